// Package assembly builds running products from settings: it is the only place that wires rooms together. It decides
// nothing about scheduling, timing or text; it hands each room its own small config.
package assembly
