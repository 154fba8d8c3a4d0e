package reply

import "strings"

// The words of the filler. Every word with a space in front, and every capitalised one that a rule below needs with and
// without, is one token in o200k_base and in cl100k_base; NewFiller checks it.
var wordLists = [...]string{
	classDet:  "the the the the this that each every one our their another his her my your",
	classAdj:  adjectives,
	classNoun: nouns,
	classTrans: "found kept made moved showed changed held followed reached crossed opened closed " +
		"carried built painted cleaned watched remembered described explained studied visited left " +
		"used needed wanted liked loved saw heard noticed chose passed touched answered repaired sold " +
		"bought brought wrote drew read shared offered covered measured tested drove turned",
	classIntrans: "waited worked stayed moved turned changed stopped started returned arrived " +
		"appeared continued remained failed helped slept talked laughed listened disappeared grew " +
		"fell rose ended began rested wandered",
	classAdv: "again often early late together today outside soon away there always sometimes",
	classPrep: "near behind across inside under above along before after beyond through around from " +
		"with without by at in",
	classConj: "and but so while because although when until since before after",
	classOpen: "Later Then Still Today Often Sometimes Perhaps However Meanwhile Eventually Once Yes " +
		"Indeed Instead Outside There Here",
}

const adjectives = "small old new quiet long short early late open simple clear bright dark warm cold " +
	"heavy light green blue red white grey empty full busy strong gentle narrow wide deep local first " +
	"second final usual common careful recent young patient plain great good better best steady " +
	"distant familiar curious modern ancient little large minor fresh soft hard rough smooth silent " +
	"public private"

const nouns = "garden river street house window door table letter story road bridge village city town " +
	"teacher student doctor farmer driver friend neighbor child mother father brother sister writer " +
	"reader worker captain engineer artist dog cat horse bird tree forest field mountain hill lake " +
	"sea island boat ship train car bus station market shop school library office kitchen room wall " +
	"roof floor lamp book page map song picture photo clock machine engine system plan idea question " +
	"answer reason result change number word name line voice sound light shadow wind rain snow storm " +
	"summer winter morning evening night day week year season moment hour visit walk journey trip " +
	"meeting lesson game team group family crowd company council report paper box basket bottle cup " +
	"glass plate knife key coat hat shoe stone tool rope wheel path gate corner square tower church " +
	"museum hospital hotel farm harbor coast valley desert cloud star moon sun fire smoke dust price " +
	"bill money coin bank"

// Classes of words, and the two punctuation marks, in the sentence patterns.
const (
	classDet = iota
	classAdj
	classNoun
	classTrans
	classIntrans
	classAdv
	classPrep
	classConj
	classOpen
	classComma
	classStop
)

// sentences are the patterns by length in tokens, from 1 to 15: D determiner, J adjective, N noun, T verb with an
// object, V verb without, A adverb, P preposition, C conjunction, O opening word. Those below 4 are only for answers of
// that length.
var sentences = [...][]string{
	1:  {"O"},
	2:  {"O."},
	3:  {"DN."},
	4:  {"DNV."},
	5:  {"DNVA.", "DJNV."},
	6:  {"DNTDN.", "O,DNV.", "DJNVA."},
	7:  {"DJNTDN.", "DNVPDN.", "DNTDJN."},
	8:  {"DJNVPDN.", "O,DNTDN.", "DJNTDJN.", "PDN,DNV."},
	9:  {"DNTDNPDN.", "O,DJNTDN.", "PDN,DJNV."},
	10: {"DJNTDNPDN.", "PDN,DNTDN.", "O,DJNVPDN."},
	11: {"DNVA,CDNVA.", "PDJN,DNTDN.", "O,DNTDNPDN."},
	12: {"PDJN,DNTDJN.", "DNVPDN,CDNV.", "DNTDN,CDNVA."},
	13: {"DNTDN,CDNTDN.", "DJNTDN,CDNVA."},
	14: {"DJNTDN,CDNTDN.", "DNVPDN,CDNTDN."},
	15: {"DNVPDN,CDNTDJN.", "PDJN,DJNTDNPDN."},
}

const minSentence = 4

// classOf reads a letter of a pattern.
func classOf(letter byte) uint8 { return uint8(strings.IndexByte("DJNTVAPCO,.", letter)) }
