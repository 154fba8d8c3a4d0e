package metrics

// Bucket bounds of the engines' histograms, in seconds unless said otherwise (spec openai-endpoint §3.3, §3.4).
func ttftBuckets() []float64 {
	return []float64{
		.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
	}
}

func itlBuckets() []float64 {
	return []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
}

func latencyBuckets() []float64 {
	return []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
}

// stepBuckets are tokens per pass.
func stepBuckets() []float64 {
	return []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
}

// lengthBuckets are tokens: 1, 2 and 5 times every power of ten, up to the longest sequence.
func lengthBuckets(maxModelLen int) []float64 {
	var out []float64
	for decade := 1; ; decade *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*decade > maxModelLen {
				return out
			}
			out = append(out, float64(m*decade))
		}
	}
}

// Dynamo's bounds (spec openai-endpoint §3.5).
func dynamoDurationBuckets() []float64 {
	return []float64{0, 1.9, 3.4, 6.3, 12, 22, 40, 75, 140, 260, 480, 900}
}

func dynamoTTFTBuckets() []float64 {
	return []float64{0, .0022, .0047, .01, .022, .047, .1, .22, .47, 1, 2.2, 4.7, 10, 22, 48, 100, 220, 480}
}

func dynamoITLBuckets() []float64 {
	return []float64{0, .0019, .0035, .0067, .013, .024, .045, .084, .16, .3, .56, 1.1, 2}
}

func sglangTTFTBuckets() []float64 {
	return []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
}

func sglangE2EBuckets() []float64 {
	return append(sglangTTFTBuckets(), 600, 1200, 1800, 2400)
}

func sglangITLBuckets() []float64 {
	return []float64{
		.002, .004, .006, .008, .01, .015, .02, .025, .03, .035, .04, .06, .08, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8,
	}
}

// sglangRetractionBuckets are numbers of retractions; the source does not list SGLang's own.
func sglangRetractionBuckets() []float64 {
	return []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 75, 100}
}

func sglangQueueBuckets() []float64 {
	return []float64{
		0, .1, .2, .5, 1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000,
		1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600, 2800, 3000,
	}
}
