package ui

// This file says what was wrong with a form by the labels that its fields have.

import (
	"errors"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// wrongField says what is wrong with a field of a form.
type wrongField struct {
	name string // of the field
	err  error
}

func (e *wrongField) Error() string { return e.name + ": " + e.err.Error() }

func (e *wrongField) Unwrap() error { return e.err }

// ofField is an error about a field; nil: there is none.
func ofField(name string, err error) error {
	if err == nil {
		return nil
	}
	return &wrongField{name, err}
}

// field is the one with a name, or nil.
func (f *form) field(name string) *field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

// says is an error in the words of the form. What is wrong with a field is said beside that, too.
func (f *form) says(err error) string {
	var lines []string
	var walk func(err error)
	walk = func(err error) {
		var wrong *wrongField
		var unfit *world.UnfitError
		switch all, joined := err.(interface{ Unwrap() []error }); {
		case joined && !errors.Is(err, world.ErrUnfit):
			for _, one := range all.Unwrap() {
				walk(one)
			}
		case errors.As(err, &wrong):
			text := strings.TrimPrefix(wrong.err.Error(), world.ErrInvalid.Error()+": ")
			label := wrong.name
			if at := f.field(wrong.name); at != nil {
				label, at.Wrong = at.Label, text
			}
			lines = append(lines, label+": "+text)
		case errors.As(err, &unfit) && len(unfit.Places) > 0:
			lines = append(lines, f.misfits(unfit)...)
		default:
			lines = append(lines, err.Error())
		}
	}
	walk(err)
	return cut(strings.Join(lines, "; "), mostMessage)
}

// misfits are the places of JSON that do not fit, by the labels of the fields that they are in.
func (f *form) misfits(unfit *world.UnfitError) (lines []string) {
	for _, place := range unfit.Places {
		first, rest, _ := strings.Cut(strings.TrimPrefix(place.Pointer, "/"), "/")
		first = strings.NewReplacer("~1", "/", "~0", "~").Replace(first)
		text := "expected " + place.Expected + ", got " + place.Got
		at := f.field(textMember + first)
		if at == nil {
			at = f.field(jsonMember + first)
		}
		switch {
		case at == nil && f.field("input") != nil:
			rest, at = place.Pointer, f.field("input")
		case at == nil && f.field("payload") != nil:
			rest, at = place.Pointer, f.field("payload")
		case at == nil:
			lines = append(lines, place.Error())
			continue
		case rest != "":
			rest = "/" + rest
		}
		if rest != "" {
			text = "at " + rest + ": " + text
		}
		if lines = append(lines, at.Label+": "+text); at.Wrong == "" {
			at.Wrong = strings.ToUpper(text[:1]) + text[1:] + "."
		}
	}
	return lines
}
