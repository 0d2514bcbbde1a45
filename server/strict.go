package server

// This file reads JSON as it is meant: a member that is there twice, or under a name in other letters, is what one reader takes and another does not see.
// All bodies that the server reads come through here.

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// strictly decodes as encoding/json does, but takes each member once, and by its exact name.
var strictly = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false),
	jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false), jsonv1.ReportErrorsWithLegacySemantics(false))

// decodeJSON reads a body that [world.CheckJSON] has passed. others: members that are not known are passed over.
func decodeJSON(body []byte, into any, others bool) error {
	return decodeError(json.Unmarshal(body, into, strictly, json.RejectUnknownMembers(!others)))
}

// decodeWire decodes the body into a message of the wire. What is refused is refused as [world.CheckJSON] does.
func (r *request) decodeWire(into any) error {
	if len(r.body) == 0 {
		return nil
	}
	err := errDeep
	if !deep(r.body) {
		err = wire.Decode(r.body, into, true)
	}
	if err == nil {
		return nil
	}
	if bad := world.CheckJSON("the body", r.body); bad != nil {
		return bad
	}
	return decodeError(err)
}

var errDeep = invalid("the body has too many levels of arrays and objects")

// deep reports whether JSON has more levels than [world.MaxDepth].
func deep(b []byte) bool {
	depth, inText := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > world.MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// decodeError says why a body could not be decoded.
func decodeError(err error) error {
	var at *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &at) && errors.Is(err, json.ErrUnknownName):
		return invalid("body: unknown field %.100q", string(at.JSONPointer))
	case errors.As(err, &at) && at.JSONPointer != "":
		return invalid("body: %.100q: %s", string(at.JSONPointer), semantics(at))
	case errors.As(err, &at):
		return invalid("body: %s", semantics(at))
	}
	return invalid("body: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// semantics says why a value does not fit.
func semantics(at *json.SemanticError) string {
	what := "does not fit"
	switch at.JSONKind {
	case '{', '[', '"', '0', 'n', 't', 'f':
		what = "a JSON " + at.JSONKind.String() + " does not fit"
	}
	if want := human.JSONWord(at.GoType); want != "" {
		what += ": want " + want
	}
	if at.Err != nil {
		what += ": " + strings.TrimPrefix(at.Err.Error(), world.ErrInvalid.Error()+": ")
	}
	return what
}
