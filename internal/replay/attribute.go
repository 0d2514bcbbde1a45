package replay

import (
	"encoding/json"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// fits refuses an attribute with which the run would have more than it may. What is in the log stays: it may be of before there was a limit.
func (m *Machine) fits(id, name string, value json.RawMessage) error {
	if m.attributes == nil {
		m.attributes = make(map[string]int, len(m.cfg.Attributes)+1)
		for name, v := range m.cfg.Attributes {
			m.attributes[name] = len(name) + len(v)
		}
	}
	before, there := m.attributes[name]
	m.attributes[name] = len(name) + len(value)
	bytes := 0
	for _, n := range m.attributes {
		bytes += n
	}
	n := len(m.attributes)
	if n <= world.MaxAttributes && bytes <= world.MaxAttributeBytes || m.recorded(world.AttrSet, id) {
		return nil
	}
	if m.attributes[name] = before; !there {
		delete(m.attributes, name)
	}
	return fmt.Errorf("%w: attribute %q: the run would have %d attributes with %d bytes: it may have %d, with %d bytes", world.ErrTooLarge, name, n, bytes,
		world.MaxAttributes, world.MaxAttributeBytes)
}

// recorded reports whether what is known of the log behind the result at hand has a creation.
func (m *Machine) recorded(t world.EventType, id string) bool {
	for i := m.at + 1; i < len(m.fed); i++ {
		if e := &m.fed[i]; e.Type == t && e.ID == id {
			return true
		}
	}
	return false
}

// StartsWith is an attribute that the segment of the run started with; nil: it had none of that name.
func StartsWith(c *Ctx, name string) json.RawMessage { return c.m.cfg.Attributes[name] }
