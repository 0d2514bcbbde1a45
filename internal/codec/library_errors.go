package codec

// This file holds the error values and types of this module itself. Every registry knows them, a nil one too; an author's names for them go before.

import (
	"encoding/json"
	"reflect"

	"github.com/stepwell/stepwell/world"
)

var (
	ownSentinels = map[string]error{}
	ownNames     = map[error]string{}
	ownTypes     = map[string]ownType{}
	ownTypeNames = map[reflect.Type]string{}
)

// ownType is how an error type of this module is kept: what its causes do not tell, and how it is made again from both.
type ownType struct {
	encode func(error) ([]byte, error)
	decode func(data []byte, rec *world.Error, causes []error) (error, error)
}

// Own registers an error value of this module. It is for functions init.
func Own(name string, err error) { ownSentinels[name], ownNames[err] = err, name }

// OwnType registers an error type of this module, under the name that errors of it have always had in logs, as "*stepwell.StepError". strip takes away what its
// causes tell; join gives it back. It is for functions init.
func OwnType[T error](strip func(T) T, join func(v T, rec *world.Error, causes []error) T) {
	t := reflect.TypeFor[T]()
	ownTypeNames[t] = t.String()
	ownTypes[t.String()] = ownType{
		encode: func(err error) ([]byte, error) { return encode(strip(err.(T)), maxErrorValue) },
		decode: func(data []byte, rec *world.Error, causes []error) (error, error) {
			var v T
			if err := Decode(data, &v); err != nil {
				return nil, err
			}
			return join(v, rec, causes), nil
		},
	}
}

// identifyOwn names an error of this module's types, and encodes it; "": it is none.
func identifyOwn(err error) (name string, value json.RawMessage) {
	name, ok := ownTypeNames[reflect.TypeOf(err)]
	if !ok {
		return "", nil
	}
	defer ignorePanic()
	data, encErr := ownTypes[name].encode(err)
	if encErr != nil || string(data) == "null" {
		return "", nil
	}
	return name, data
}

// ownValue makes an error of this module's types again; nil: it is none.
func ownValue(rec *world.Error, causes []error) error {
	t, ok := ownTypes[rec.Name]
	if !ok || rec.Value == nil {
		return nil
	}
	v, err := t.decode(rec.Value, rec, causes)
	if err != nil {
		return nil
	}
	return v
}
