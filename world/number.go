package world

// This file holds the one rule by which two JSON numbers are equal.

import (
	"strconv"
	"strings"
)

// mostZeros is how many zeros a number's text may have that its digits do not.
const mostZeros = 20

// maxPower is how many characters an exponent may have. A number with a longer one is as it is written.
const maxPower = 17

// numberText is the text of a JSON number. Equal numbers have one text: that of 1, 1.0 and 10e-1 is 1. It has neither a
// plus sign nor zeros that say nothing, and an exponent only where it would need more than mostZeros zeros. PostgreSQL's
// number_text is the same.
func numberText(s string) string {
	mantissa, power, _ := strings.Cut(strings.ToLower(s), "e")
	mantissa, minus := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	switch {
	case short == "":
		return "0"
	case len(power) > maxPower:
		return s
	}
	exponent, _ := strconv.Atoi(power) // none: 0
	exponent += len(digits) - len(short) - len(fraction)
	text, before := short, len(short)+exponent // the point
	switch {
	case exponent >= 0 && exponent <= mostZeros:
		text += strings.Repeat("0", exponent)
	case exponent < 0 && before > 0:
		text = short[:before] + "." + short[before:]
	case exponent < 0 && before >= -mostZeros:
		text = "0." + strings.Repeat("0", -before) + short
	default:
		text += "e" + strconv.Itoa(exponent)
	}
	if minus {
		return "-" + text
	}
	return text
}
