package server

// The schemas of the messages of remote workers are made of their types, so that they say what is.

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// wireMessages are the messages, and what of package world stands in them under a name that schemas.json has.
var (
	wireMessages = []any{
		wire.Hello{}, wire.Worker{}, wire.Beat{}, wire.TakeQuery{}, wire.Taken{}, wire.BeatQuery{}, wire.HeldQuery{}, wire.Held{}, wire.WorkerID{}, wire.SweepQuery{}, wire.Swept{},
		wire.Commit{}, wire.Committed{}, wire.Delivery{}, wire.Delivered{}, wire.Append{}, wire.Appended{}, wire.EventQuery{}, wire.EventPage{},
		wire.RunID{}, wire.OneRun{}, wire.Accepted{}, wire.RunQuery{}, wire.RunPage{}, wire.HookQuery{}, wire.Hooks{}, wire.Tasks{}, wire.ChunkQuery{}, wire.ChunkPage{},
		wire.Streams{}, wire.ReadyQuery{}, wire.Ready{}, wire.Stats{}, wire.Findings{}, wire.KeyQuery{}, wire.KeyPrint{}, wire.Definitions{}, wire.DefinedQuery{}, wire.Defined{},
		wire.SchemasQuery{}, wire.Schemas{}, wire.Limit{}, wire.Limited{}, wire.ProcessMetrics{}, wire.AllMetrics{}, nothing{},
		wire.PieceOf{}, wire.Piece{}, wire.PieceData{}, wire.ValueOf{}, wire.ValueKeys{},
		wire.MessageAct{}, wire.MessageActed{}, wire.QueueQuery{}, wire.Queues{},
		wire.TopicAct{}, wire.TopicActed{}, wire.TopicQuery{}, wire.Topics{},
		wire.HoldAct{}, wire.Holds{},
		wire.ScheduleAct{}, wire.ScheduleActed{}, wire.ScheduleQuery{}, wire.Schedules{},
		wire.LimitsQuery{}, wire.Limits{}, wire.LimitAct{},
	}
	wireNames = map[reflect.Type]string{
		reflect.TypeFor[world.Class](): "Class", reflect.TypeFor[world.Block](): "Block", reflect.TypeFor[world.Error](): "Error", reflect.TypeFor[world.InLine](): "InLine",
		reflect.TypeFor[nothing](): "WireNothing",
	}
)

// wireSchemas are those of all messages, and of what stands in them.
func wireSchemas() object {
	s := schemaMaker{}
	for _, m := range wireMessages {
		s.ref(reflect.TypeOf(m))
	}
	delete(s, "Class")
	delete(s, "Block")
	delete(s, "InLine")
	delete(s, "Error")
	return object(s)
}

type schemaMaker object

// ref is a reference to the schema of a struct, which is made where there is none.
func (s schemaMaker) ref(t reflect.Type) object {
	name := wireNames[t]
	if name == "" {
		name = "Wire" + t.Name()
	}
	if s[name] == nil {
		o := object{}
		s[name] = o // a commit has commits
		fields, required := object{}, []string{}
		s.fields(t, fields, &required)
		o["type"], o["properties"], o["additionalProperties"] = "object", fields, false
		if len(required) > 0 {
			o["required"] = required
		}
	}
	return schemaRef(name)
}

// fields are those of a struct as encoding/json has them: what is embedded gives way.
func (s schemaMaker) fields(t reflect.Type, into object, required *[]string) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			embedded = append(embedded, f.Type)
			continue
		}
		if into[name] != nil || name == "-" {
			continue
		}
		into[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
	for _, e := range embedded {
		s.fields(e, into, required)
	}
}

// of is the schema of a value.
func (s schemaMaker) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[wire.Bytes](), reflect.TypeFor[json.RawMessage]():
		return object{"nullable": true, "description": "Any JSON; bytes that are not, or have white space between tokens, as {\"$base64\": …}."}
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.ref(t)
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "format": "byte"}
		}
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	}
	return object{"type": "integer"}
}
