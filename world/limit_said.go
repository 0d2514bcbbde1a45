package world

// What definitions say of limits, for starters that have not the code.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// SaidLimit is a limit as a definition says it.
type SaidLimit struct {
	Name     string `json:"name"`
	Number   int    `json:"number"`
	UntilEnd bool   `json:"untilEnd,omitempty"`
	Path     string `json:"path,omitempty"`     // of the key in the JSON of the input; "": it has none
	Computed bool   `json:"computed,omitempty"` // only its code can tell the key
}

// Check refuses, with [ErrInvalid], what no definition says.
func (l *SaidLimit) Check() error {
	if l.Path != "" {
		for name := range strings.SplitSeq(l.Path, ".") {
			if name == "" || len(l.Path) > MaxTemplate {
				return fmt.Errorf("%w: path %.80q: want names with dots between, of %d bytes at most", ErrInvalid, l.Path, MaxTemplate)
			}
		}
	}
	if l.Number < 1 {
		return fmt.Errorf("%w: %d at once: want 1 at least", ErrInvalid, l.Number)
	}
	return CheckLimit(l.Name, l.Number)
}

// KeyAt is the text, number or truth at a path of some JSON.
func KeyAt(input []byte, path string) (string, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber() // as it is written
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("%w: the input is no JSON", ErrInvalid)
	}
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("%w: the input has no text, number or truth at %s", ErrInvalid, path)
}

// SaidPlaces are the places that a run with an input needs, where its code is elsewhere. The error is [ErrInvalid]
// where only that can tell.
func SaidPlaces(said []SaidLimit, input []byte) (places []Place, err error) {
	for _, l := range said {
		p := Place{Limit: l.Name, Number: l.Number, UntilEnd: l.UntilEnd}
		if l.Path != "" {
			p.Key, err = KeyAt(input, l.Path)
		} else if l.Computed {
			err = fmt.Errorf("%w: code computes it: start the run in a program that has the workflow's definition, or define the limit with limit.Path", ErrInvalid)
		}
		if err != nil {
			return nil, fmt.Errorf("limit %s: key: %w", l.Name, err)
		}
		places = append(places, p)
	}
	OrderPlaces(places)
	return places, CheckPlaces(places)
}
