package world

// This file fills in the templates of subscriptions.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// CheckTemplate returns [ErrInvalid] for an invalid template: text with {payload.a.b}, {topic},
// {id} and {header.name}. {{ and }} are braces.
func CheckTemplate(template string) error {
	if len(template) > MaxTemplate {
		return fmt.Errorf("%w: it has %d bytes: the most is %d", ErrInvalid, len(template), MaxTemplate)
	}
	_, err := expand(template, func(place string) (string, error) { return "", checkPlace(place) })
	return err
}

func checkPlace(place string) error {
	name, rest, more := strings.Cut(place, ".")
	switch {
	case name == "topic" && !more, name == "id" && !more, name == "payload" && !more, name == "header" && rest != "":
		return nil
	case name == "payload":
		for key := range strings.SplitSeq(rest, ".") {
			if key == "" {
				return fmt.Errorf("%w: template: {%s}: a name in the path is empty", ErrInvalid, place)
			}
		}
		return nil
	}
	return fmt.Errorf("%w: template: {%.80s}: want {payload.a.b}, {topic}, {id} or {header.name}; write {{ for a brace", ErrInvalid, place)
}

// FillTemplate fills a template from the message of a publication. The error is [ErrInvalid] if a
// named field is missing, or is not a string, number or boolean.
func FillTemplate(template string, m *Message) (string, error) {
	var payload any // parsed once, where something of it is asked for
	parsed := false
	return expand(template, func(place string) (string, error) {
		name, rest, _ := strings.Cut(place, ".")
		switch name {
		case "topic":
			return m.Headers[HeaderTopic], nil
		case "id":
			return m.Headers[HeaderPublication], nil
		case "header":
			if v, ok := m.Headers[rest]; ok {
				return v, nil
			}
			return "", fmt.Errorf("%w: template: {%s}: there is no such header", ErrInvalid, place)
		}
		if err := checkPlace(place); err != nil {
			return "", err
		}
		if !parsed {
			d := json.NewDecoder(bytes.NewReader(m.Payload))
			d.UseNumber()
			if err := d.Decode(&payload); err != nil {
				return "", fmt.Errorf("%w: template: {%s}: the payload is not JSON", ErrInvalid, place)
			}
			parsed = true
		}
		return scalarAt(payload, place, rest)
	})
}

func scalarAt(v any, place, path string) (string, error) {
	if path != "" {
		for key := range strings.SplitSeq(path, ".") {
			object, _ := v.(map[string]any)
			of, ok := object[key]
			if !ok {
				return "", fmt.Errorf("%w: template: {%s}: the payload has no such field", ErrInvalid, place)
			}
			v = of
		}
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return numberText(v.String()), nil
	case bool:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("%w: template: {%s}: want a string, a number or a boolean there", ErrInvalid, place)
}

// expand replaces what stands in braces.
func expand(template string, place func(string) (string, error)) (string, error) {
	var out strings.Builder
	for rest := template; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			out.WriteString(rest)
			break
		}
		out.WriteString(rest[:i])
		brace := rest[i]
		if rest = rest[i+1:]; rest != "" && rest[0] == brace {
			out.WriteByte(brace)
			rest = rest[1:]
			continue
		}
		end := strings.IndexAny(rest, "{}")
		if brace == '}' || end < 0 || rest[end] == '{' {
			return "", fmt.Errorf("%w: template %.100q: unmatched brace: write {{ or }} for one", ErrInvalid, template)
		}
		text, err := place(rest[:end])
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		rest = rest[end+1:]
	}
	return out.String(), nil
}
