package tokenize

// mediaBase and above are 2^27 ids that stand for content other than text.
const mediaBase = 0xf8000000

// AppendMedia appends so many ids that depend on media and the position: the same image has the same ids wherever it
// stands, and two images share none but by accident.
func AppendMedia(dst []uint32, media uint64, tokens int) []uint32 {
	x := media
	for range tokens {
		x += 0x9e3779b97f4a7c15 // splitmix64
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		dst = append(dst, mediaBase|uint32(z>>37))
	}
	return dst
}

// Costs of an image, as OpenAI documents them for the gpt-4o family.
const (
	imageBase = 85  // any image, and all of a low-detail one
	imageTile = 170 // every tile of 512 x 512 pixels
)

// ImageTokens is the cost of an image of that many pixels. Detail low costs 85. Otherwise the image is scaled down to
// fit 2048 x 2048, then to 768 on its shorter side, and costs 85 and 170 for every tile of 512 x 512 it touches. An
// image of unknown size (0) counts as 1024 x 1024.
func ImageTokens(width, height int, detail string) int {
	if detail == "low" {
		return imageBase
	}
	if width <= 0 || height <= 0 {
		width, height = 1024, 1024
	}
	w, h := float64(width), float64(height)
	if m := max(w, h); m > 2048 {
		w, h = w*2048/m, h*2048/m
	}
	if m := min(w, h); m > 768 {
		w, h = w*768/m, h*768/m
	}
	return imageBase + imageTile*tiles(w)*tiles(h)
}

func tiles(pixels float64) int {
	n := int(pixels) / 512
	if float64(n*512) < pixels {
		n++
	}
	return max(n, 1)
}

// AudioTokens is the cost of sound that a client sends: one token for every 100 ms begun.
func AudioTokens(milliseconds int) int { return max(1, (milliseconds+99)/100) }

// FileTokens is the cost of a file whose text cannot be read: one token for every four bytes begun, at least one.
func FileTokens(size int) int { return max(1, (size+approxBytes-1)/approxBytes) }
