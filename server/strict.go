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
)

// strictly decodes as encoding/json does, but takes each member once, and by its exact name.
var strictly = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false),
	jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false), jsonv1.ReportErrorsWithLegacySemantics(false))

// decodeJSON reads a body that [world.CheckJSON] has passed. others: members that are not known are passed over.
func decodeJSON(body []byte, into any, others bool) error {
	err := json.Unmarshal(body, into, strictly, json.RejectUnknownMembers(!others))
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
