package world

// What definitions say of limits, for starters that have not the code.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// SaidLimit is a limit as code declares it.
type SaidLimit struct {
	Name     string `json:"name"`
	Number   int    `json:"number"`
	UntilEnd bool   `json:"untilEnd,omitempty"`
	// of the key in the input's JSON; "": there is no key
	Path     string `json:"path,omitempty"`
	Computed bool   `json:"computed,omitempty"` // only the workflow's code can compute the key

	Per    time.Duration `json:"per,omitempty"` // of a rate, as the next fields; see [Place]
	Burst  int           `json:"burst,omitempty"`
	Refuse bool          `json:"refuse,omitempty"`

	Single Single `json:"single,omitempty"`

	// Weights multiply the places of keys, and so their share of what all keys wait for. Other keys
	// have weight 1.
	Weights map[string]int `json:"weights,omitempty"`

	Steps    bool `json:"-"` // a step declares it, not a workflow
	Messages bool `json:"-"` // a queue declares it, for receives
}

// Runs reports whether a workflow declares it.
func (l *SaidLimit) Runs() bool { return !l.Steps && !l.Messages }

// Scope returns the limit's scope.
func (l *SaidLimit) Scope() Scope { return scopeOf(l.Per, l.UntilEnd, l.Refuse) }

// Text says for people how many it lets in.
func (l *SaidLimit) Text() string {
	switch {
	case len(l.Weights) > 0: // fmt sorts them
		return fmt.Sprintf("%d at once, with the weights %.500v", l.Number, fmt.Sprint(l.Weights)[len("map"):])
	case l.Per <= 0:
		return fmt.Sprintf("%d at once", l.Number)
	case l.Burst > 1:
		return fmt.Sprintf("%d in %s, %d at one moment", l.Number, l.Per, l.Burst)
	}
	return fmt.Sprintf("%d in %s", l.Number, l.Per)
}

// Place returns one of its places, without a key.
func (l *SaidLimit) Place() Place {
	return Place{Limit: l.Name, Number: l.Number, UntilEnd: l.UntilEnd, Per: l.Per, Burst: l.Burst, Refuse: l.Refuse, Single: l.Single}
}

// Check returns [ErrInvalid] for an invalid declaration.
func (l *SaidLimit) Check() error {
	if err := checkPath(l.Path); err != nil {
		return err
	}
	if err := l.checkWeights(); err != nil {
		return err
	}
	return l.check(1)
}

func (l *SaidLimit) checkWeights() error {
	switch {
	case l.Weights == nil:
		return nil
	case l.Per != 0 || l.Single != "":
		return fmt.Errorf("%w: limit %s: weights share out places, and it has none: they are of AtOnce", ErrInvalid, l.Name)
	case l.Path == "" && !l.Computed:
		return fmt.Errorf("%w: limit %s: weights are of keys, and it has none: say By or Key", ErrInvalid, l.Name)
	case len(l.Weights) > MaxWeights:
		return fmt.Errorf("%w: limit %s: %d keys have weights: the most is %d", ErrInvalid, l.Name, len(l.Weights), MaxWeights)
	}
	for key, weight := range l.Weights {
		if weight < 1 || weight > MaxWeight {
			return fmt.Errorf("%w: limit %s: key %.140q has the weight %d: want 1 to %d", ErrInvalid, l.Name, key, weight, MaxWeight)
		}
		if err := checkLimitKey(l.Name, key); err != nil {
			return err
		}
	}
	return nil
}

// checkLimitKey refuses, with [ErrInvalid], what no key is. "" is one.
func checkLimitKey(limit, key string) error {
	wrong := ""
	switch {
	case len(key) > MaxLimitKey:
		wrong = fmt.Sprintf("it has %d bytes: the most is %d: use something shorter, such as an ID or a hash", len(key), MaxLimitKey)
	case key != "" && CheckName("", key) != nil:
		wrong = "it has a character that is not printable: use letters, digits, signs and spaces"
	default:
		return nil
	}
	return wrongKey(limit, wrong)
}

// wrongKey is the error for a key of a limit. PostgreSQL says the same of messages: see 0034_key_words.sql.
func wrongKey(limit, wrong string) error {
	return fmt.Errorf("%w: limit %s: key: %s", ErrInvalid, limit, wrong)
}

// check refuses what no limit is, of least a number of places.
func (l *SaidLimit) check(least int) error {
	if l.Single != "" {
		return l.checkSingle()
	}
	if l.Per != 0 {
		if err := CheckRate(l.Number, l.Per, l.Burst); err != nil {
			return fmt.Errorf("limit %s: %w", l.Name, err)
		}
		if l.UntilEnd {
			return fmt.Errorf("%w: limit %s: a rate cannot use UntilEnd", ErrInvalid, l.Name)
		}
	} else if l.Burst != 0 || l.Refuse {
		return fmt.Errorf("%w: limit %s: only a rate can have a burst, or refuse", ErrInvalid, l.Name)
	}
	if l.Number < least {
		return fmt.Errorf("%w: limit %s: %d at once: want 1 or more", ErrInvalid, l.Name, l.Number)
	}
	return CheckLimit(l.Name, l.Number)
}

// KeyAt returns the string, number or boolean at a path of some JSON as a key. Equal numbers give
// one key, however they are written.
func KeyAt(input []byte, path string) (string, error) {
	key, isJSON, found := keyAt(input, path)
	switch {
	case !isJSON:
		return "", fmt.Errorf("%w: the input is not JSON", ErrInvalid)
	case !found:
		return "", fmt.Errorf("%w: the input has no string, number or boolean at %s", ErrInvalid, path)
	}
	return key, nil
}

// keyAt is [KeyAt], and tells what was wrong.
func keyAt(value []byte, path string) (key string, isJSON, found bool) {
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "", false, false
	}
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	switch v := v.(type) {
	case string:
		return v, true, true
	case json.Number:
		return numberText(v.String()), true, true
	case bool:
		return fmt.Sprint(v), true, true
	}
	return "", true, false
}

// SaidPlaces returns the places that a run with an input needs. The error is [ErrInvalid] if only
// the workflow's code can compute a key.
func SaidPlaces(said []SaidLimit, input []byte) (places []Place, err error) {
	for _, l := range said {
		p := l.Place()
		if l.Path != "" {
			p.Key, err = KeyAt(input, l.Path)
		} else if l.Computed {
			err = fmt.Errorf("%w: code computes it: start the run in a program that has the workflow's definition, or let the limit say where the key stands, with By", ErrInvalid)
		}
		if err != nil {
			return nil, fmt.Errorf("limit %s: key: %w", l.Name, err)
		}
		places = append(places, p)
	}
	OrderPlaces(places)
	return places, CheckPlaces(places)
}
