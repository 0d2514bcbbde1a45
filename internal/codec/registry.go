package codec

// This file holds the names under which errors survive a replay: the registry of sentinels and error types.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"

	"github.com/stepwell/stepwell/world"
)

// Registry knows errors by name, so that errors.Is and errors.As hold for them after a replay too. The zero Registry, and a
// nil one, know a few of the standard library and of package world. Names are kept in logs: one that was used must not get
// another meaning. It is filled first, by one goroutine, and is then safe for concurrent use.
type Registry struct {
	sentinels map[string]error
	names     map[error]string
	types     map[string]errorType
	typeNames map[reflect.Type]string
}

// errorType is a registered type: how to read a value of it back.
type errorType struct {
	typ    reflect.Type
	decode func([]byte) (error, error)
}

// standard are the sentinels that everybody knows, under the names they have in Go.
var standard = map[string]error{
	"context.Canceled":         context.Canceled,
	"context.DeadlineExceeded": context.DeadlineExceeded,
	"errors.ErrUnsupported":    errors.ErrUnsupported,
	"fs.ErrExist":              fs.ErrExist,
	"fs.ErrNotExist":           fs.ErrNotExist,
	"fs.ErrPermission":         fs.ErrPermission,
	"io.EOF":                   io.EOF,
	"io.ErrUnexpectedEOF":      io.ErrUnexpectedEOF,
	"os.ErrDeadlineExceeded":   os.ErrDeadlineExceeded,
	"world.ErrConflict":        world.ErrConflict,
	"world.ErrInboxFull":       world.ErrInboxFull,
	"world.ErrDeliveryUsed":    world.ErrDeliveryUsed,
	"world.ErrInvalid":         world.ErrInvalid,
	"world.ErrNotFound":        world.ErrNotFound,
	"world.ErrRateLimited":     world.ErrRateLimited,
	"world.ErrRunExists":       world.ErrRunExists,
	"world.ErrTerminal":        world.ErrTerminal,
	"world.ErrTooLarge":        world.ErrTooLarge,
}

var standardNames = func() map[error]string {
	m := make(map[error]string, len(standard))
	for name, err := range standard {
		m[err] = name
	}
	return m
}()

// Sentinel registers an error value under a name; the same pair again is legal. Errors are [world.ErrInvalid]: the name
// or the value is taken by another, the value is nil or cannot be compared.
func (r *Registry) Sentinel(name string, err error) error {
	if err == nil {
		return refused("known error", name, "the error is nil")
	}
	if !comparableError(err) {
		return refused("known error", name, "a %T cannot be compared: make its type known, with KnownErrorType", err)
	}
	if fault := world.CheckName("known error", name); fault != nil {
		return fault
	}
	if is := r.standsFor(name); is != "" && r.sentinel(name) != err {
		return refused("known error", name, "the name stands for %s: it cannot stand for the error %q too", is, message(err))
	}
	if old, ok := r.nameOf(err); ok && old != name && ownSentinels[old] == nil {
		return refused("known error", name, "the error %q is known as %q", message(err), old)
	}
	if r.sentinels == nil {
		r.sentinels, r.names = make(map[string]error), make(map[error]string)
	}
	r.sentinels[name], r.names[err] = err, name
	return nil
}

// Type registers an error type under a name; the same pair again is legal. T is a struct, a pointer to one, or whatever else
// implements error and makes the round trip through JSON. Errors are [world.ErrInvalid]: the name or the type is taken by
// another, or T is an interface.
func Type[T error](r *Registry, name string) error {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Interface {
		return refused("known error type", name, "%s is an interface: want the type of its values", t)
	}
	if fault := world.CheckName("known error type", name); fault != nil {
		return fault
	}
	if is := r.standsFor(name); is != "" && r.types[name].typ != t {
		return refused("known error type", name, "the name stands for %s: it cannot stand for the type %s too", is, t)
	}
	if old, ok := r.typeNames[t]; ok && old != name {
		return refused("known error type", name, "the type %s is known as %q", t, old)
	}
	if r.types == nil {
		r.types, r.typeNames = make(map[string]errorType), make(map[reflect.Type]string)
	}
	r.typeNames[t] = name
	r.types[name] = errorType{typ: t, decode: func(data []byte) (error, error) {
		var v T
		err := Fits(data, &v)
		return v, err
	}}
	return nil
}

func refused(what, name, why string, args ...any) error {
	return fmt.Errorf("%s %q: %w: %s", what, name, world.ErrInvalid, fmt.Sprintf(why, args...))
}

// standsFor says what a name stands for; "": nothing.
func (r *Registry) standsFor(name string) string {
	if err, ok := r.lookup(name); ok {
		return fmt.Sprintf("the error %q", message(err))
	}
	if t, ok := r.types[name]; ok {
		return "the type " + t.typ.String()
	}
	return ""
}

func (r *Registry) lookup(name string) (error, bool) {
	if err, ok := standard[name]; ok {
		return err, true
	}
	if err, ok := r.sentinels[name]; ok {
		return err, ok
	}
	err, ok := ownSentinels[name]
	return err, ok
}

func (r *Registry) nameOf(err error) (string, bool) {
	if name, ok := standardNames[err]; ok {
		return name, true
	}
	if name, ok := r.names[err]; ok {
		return name, ok
	}
	name, ok := ownNames[err]
	return name, ok
}

// identify names an error and, where its type is registered, encodes it. "" means that nobody registered it.
func (r *Registry) identify(err error) (name string, value json.RawMessage) {
	if r == nil {
		r = &Registry{}
	}
	if comparableError(err) {
		if name, ok := r.nameOf(err); ok {
			return name, nil
		}
	}
	typeName, ok := r.typeNames[reflect.TypeOf(err)]
	if !ok {
		return identifyOwn(err)
	}
	defer ignorePanic() // what cannot be kept is kept as any other error is
	data, encErr := encode(err, maxErrorValue)
	if encErr != nil || string(data) == "null" {
		return "", nil
	}
	return typeName, data
}

// matches names the registered sentinels that err is by its own Is method, in order.
func (r *Registry) matches(err error) []string {
	x, ok := err.(interface{ Is(error) bool })
	if !ok {
		return nil
	}
	var names []string
	is := func(s error) bool {
		defer ignorePanic()
		return x.Is(s)
	}
	for name, s := range r.all() {
		if is(s) {
			names = append(names, name)
		}
	}
	return names
}

// sentinel returns the error with a name, or nil.
func (r *Registry) sentinel(name string) error {
	if r == nil {
		r = &Registry{}
	}
	err, _ := r.lookup(name)
	return err
}

// value reads an error of a registered type back; nil where nobody registered it, or today's type cannot hold it.
func (r *Registry) value(name string, data json.RawMessage) error {
	if r == nil || data == nil {
		return nil
	}
	t, ok := r.types[name]
	if !ok {
		return nil
	}
	if v, err := t.decode(data); err == nil {
		return v
	}
	return nil
}

func comparableError(err error) bool { return err != nil && reflect.ValueOf(err).Comparable() }
