package schema

import "strings"

// Words that values are made of.
var (
	plainWords = strings.Fields("amber anchor apple arrow basket beacon birch bridge bronze candle " +
		"canyon cedar cobalt copper coral cotton crystal delta ember falcon fern field forest garden " +
		"granite harbor hazel island ivory jasmine juniper kettle lantern laurel lemon linen maple " +
		"marble meadow mirror morning olive orchard paper pebble pepper pine planet pocket quartz " +
		"quiet river saffron sail silver spring stone summer thistle timber valley velvet violet " +
		"walnut willow winter")
	mapKeys    = strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda sigma omega")
	firstNames = strings.Fields("Ada Alan Amara Ben Carla Chen David Elena Emma Femi Grace Hana Ines " +
		"Ivan Jonas Kofi Lena Maria Noah Olga Priya Ravi Sofia Tariq Yuki")
	lastNames = strings.Fields("Adams Brown Chen Diaz Evans Fischer Garcia Hansen Ito Jones Khan " +
		"Lopez Miller Novak Okafor Patel Rossi Santos Silva Smith Tanaka Weber Young")
	cities = strings.Fields("Amsterdam Berlin Boston Cairo Chicago Copenhagen Delhi Dublin Geneva " +
		"Kyoto Lagos Lima Lisbon London Madrid Nairobi Oslo Paris Prague Quito Rome Seoul Sydney " +
		"Tokyo Vienna Zagreb")
	countries = strings.Fields("Brazil Canada Chile Denmark Egypt France Germany India Italy Japan " +
		"Kenya Mexico Norway Peru Portugal Spain Sweden Vietnam")
)
