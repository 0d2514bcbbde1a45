package stepwell

// Attributes: what a run shows to those who look for it.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// maxAttribute is how many bytes an attribute's value may have: attributes are read with every list.
const maxAttribute = 8 << 10

// SetAttribute sets an attribute of the run, as JSON. Clients read attributes with the run and list
// runs by them (see [ListFilter]), also while the run goes on. The same name replaces the value.
// SetAttribute returns at once; the value is durable with the run's next event.
//
// A name has 1 to 256 bytes of printable UTF-8. A value has at most 8 KiB; a run has at most 64
// attributes, and 16 KiB of names and values together. Attributes are not encrypted. Errors:
// [ErrInvalid], [ErrTooLarge], [ErrCancelled] if the run is cancelled, and encoding errors.
func SetAttribute[T any](ctx Context, name string, value T) error {
	if err := world.CheckName("attribute", name); err != nil {
		return err
	}
	b, err := outgoing(ctx, &value, maxAttribute, world.KindAttr, name)
	if err != nil {
		return fmt.Errorf("attribute %q: %w", name, err)
	}
	if err := ctx.x.SetAttribute(name, b); err != nil {
		if errors.Is(err, replay.ErrCancelled) {
			return ErrCancelled
		}
		return err
	}
	return nil
}

func encodeAttribute(name string, value any) (json.RawMessage, error) {
	err := world.CheckName("attribute", name)
	if err != nil {
		return nil, err
	}
	if raw, ok := value.(json.RawMessage); ok {
		if err := world.CheckJSON(fmt.Sprintf("attribute %.100q", name), raw); err != nil {
			return nil, err
		}
	}
	b, err := codec.Encode(value, maxAttribute)
	if err != nil {
		return nil, fmt.Errorf("attribute %q: %w", name, err)
	}
	return b, nil
}

// allAttributes are what a run starts with: those of its definition, and the start's own.
func (o *startOptions) allAttributes() (map[string]json.RawMessage, error) {
	own, err := encodeAttributes(o.Attributes)
	if err != nil || len(o.attributes) == 0 {
		return own, err
	}
	all := maps.Clone(o.attributes)
	maps.Copy(all, own)
	return all, world.CheckAttributes(all)
}

// encodeAttributes encodes all, in the order of their names, so that it is always the same one that is refused.
func encodeAttributes(all map[string]any) (map[string]json.RawMessage, error) {
	if len(all) == 0 {
		return nil, nil
	}
	out := make(map[string]json.RawMessage, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b, err := encodeAttribute(name, all[name])
		if err != nil {
			return nil, err
		}
		out[name] = b
	}
	return out, world.CheckAttributes(out)
}
