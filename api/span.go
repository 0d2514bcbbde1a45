package api

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// Span is a [time.Duration] whose text is like 90s, 36h, 7d or 1d12h. It is not negative.
type Span time.Duration

func (s Span) String() string { return human.SpanText(time.Duration(s)) }

// MarshalText returns the same text as String.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalJSON reads a text. It returns [world.ErrInvalid] for another.
func (s *Span) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("%w: duration %.40s: want a string like \"90s\"", world.ErrInvalid, b)
	}
	d, err := human.ParseSpan(text)
	if err != nil {
		return fmt.Errorf("%w: duration %.40q: %w", world.ErrInvalid, text, err)
	}
	*s = Span(d)
	return nil
}

// Forever is the [Lasting] without an end.
const Forever Lasting = -1

// Lasting is a [Span], or forever.
type Lasting time.Duration

func (l Lasting) String() string {
	if l == Forever {
		return "forever"
	}
	return Span(l).String()
}

// MarshalText returns the same text as String.
func (l Lasting) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalJSON reads a text. It returns [world.ErrInvalid] for another.
func (l *Lasting) UnmarshalJSON(b []byte) error {
	if string(b) == `"forever"` {
		*l = Forever
		return nil
	}
	return (*Span)(l).UnmarshalJSON(b)
}

// Position names an event of a run: by its number or its ID.
type Position string

// UnmarshalJSON reads a number or a text.
func (p *Position) UnmarshalJSON(b []byte) error {
	var text string // null: none
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	*p = Position(text)
	return nil
}
