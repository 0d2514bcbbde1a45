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
	"sync"

	"github.com/stepwell/stepwell/world"
)

// Registry knows errors by name, so that errors.Is and errors.As hold for them after a replay too. The zero Registry, and a
// nil one, know a few of the standard library and of package world. Names are kept in logs: one that was used must not get
// another meaning. It is safe for concurrent use.
type Registry struct {
	mu        sync.RWMutex
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

// Sentinel registers an error value under a name. It panics where the name or the value is taken by another, the value is nil, or
// its type is not comparable: these are mistakes of the program. Registering the same pair again is legal.
func (r *Registry) Sentinel(name string, err error) {
	if r == nil {
		panic(fmt.Sprintf("stepwell: sentinel %q: the registry of errors is nil", name))
	}
	if !comparableError(err) {
		panic(fmt.Sprintf("stepwell: sentinel %q: the error %T cannot be compared", name, err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.lookup(name); ok && old != err {
		panic(fmt.Sprintf("stepwell: sentinel %q: the name is taken by another error", name))
	}
	if old, ok := r.nameOf(err); ok && old != name && ownSentinels[old] == nil {
		panic(fmt.Sprintf("stepwell: sentinel %q: the error is registered as %q", name, old))
	}
	r.checkName(name, nil)
	if r.sentinels == nil {
		r.sentinels, r.names = make(map[string]error), make(map[error]string)
	}
	r.sentinels[name], r.names[err] = err, name
}

// Type registers an error type under a name; T is a struct, a pointer to one, or whatever else implements error and makes the
// round trip through JSON. It panics where the name or the type is taken by another, or T is an interface.
func Type[T error](r *Registry, name string) {
	t := reflect.TypeFor[T]()
	if r == nil {
		panic(fmt.Sprintf("stepwell: error type %q: the registry of errors is nil", name))
	}
	if t.Kind() == reflect.Interface {
		panic(fmt.Sprintf("stepwell: error type %q: %s is an interface", name, t))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.typeNames[t]; ok && old != name {
		panic(fmt.Sprintf("stepwell: error type %q: %s is registered as %q", name, t, old))
	}
	r.checkName(name, t)
	if r.types == nil {
		r.types, r.typeNames = make(map[string]errorType), make(map[reflect.Type]string)
	}
	r.typeNames[t] = name
	r.types[name] = errorType{typ: t, decode: func(data []byte) (error, error) {
		var v T
		err := Fits(data, &v)
		return v, err
	}}
}

// checkName panics where a name is no name, or belongs to something of another sort.
func (r *Registry) checkName(name string, t reflect.Type) {
	if err := world.CheckName("error name", name); err != nil {
		panic("stepwell: " + err.Error())
	}
	old, ok := r.types[name]
	if ok && old.typ != t {
		panic(fmt.Sprintf("stepwell: error name %q: taken by type %s", name, old.typ))
	}
	if _, ok := r.lookup(name); ok && t != nil {
		panic(fmt.Sprintf("stepwell: error type %q: the name is taken by a sentinel", name))
	}
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
	r.mu.RLock()
	defer r.mu.RUnlock()
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
	r.mu.RLock()
	defer r.mu.RUnlock()
	err, _ := r.lookup(name)
	return err
}

// value reads an error of a registered type back; nil where nobody registered it, or today's type cannot hold it.
func (r *Registry) value(name string, data json.RawMessage) error {
	if r == nil || data == nil {
		return nil
	}
	r.mu.RLock()
	t, ok := r.types[name]
	r.mu.RUnlock()
	if !ok {
		return nil
	}
	if v, err := t.decode(data); err == nil {
		return v
	}
	return nil
}

func comparableError(err error) bool { return err != nil && reflect.ValueOf(err).Comparable() }
