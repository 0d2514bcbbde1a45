// Package desk has helpers of workflows, and of their programs.
package desk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
)

func work(ctx context.Context) error { return nil }

// Ship asks for a step.
func Ship(ctx stepwell.Context, name string) error { return stepwell.Do(ctx, name, work) }

// Quiet asks for nothing.
func Quiet(ctx stepwell.Context) string { return ctx.RunID() }

// Bag has a Context.
type Bag struct {
	ctx  stepwell.Context
	Name string
}

// NewBag makes one.
func NewBag(ctx stepwell.Context) *Bag { return &Bag{ctx: ctx} }

// Ship asks for a step.
func (b *Bag) Ship(name string) error { return stepwell.Do(b.ctx, name, work) }

// Label asks for nothing.
func (b *Bag) Label() string { return b.Name }

// Keeper keeps a Context.
type Keeper struct{ ctx stepwell.Context }

// Keep keeps it.
func (k *Keeper) Keep(ctx stepwell.Context) { k.ctx = ctx }

// InBody runs a function as a step.
func InBody(ctx stepwell.Context, fn func() error) error {
	return stepwell.Do(ctx, "in-body", func(context.Context) error { return fn() })
}

// Each calls a function for each entry of a map.
func Each[K comparable, V any](m map[K]V, fn func(K, V) error) error {
	for k, v := range m {
		if err := fn(k, v); err != nil {
			return err
		}
	}
	return nil
}

// Keys are those of a map.
func Keys[K comparable, V any](m map[K]V) (all []K) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// SortedKeys sorts those.
func SortedKeys(m map[string]int) []string {
	all := Keys(m)
	slices.Sort(all)
	return all
}

// Any is one of a map.
func Any(m map[string]int) string {
	for k := range m {
		return k
	}
	return ""
}

// Set is a map.
type Set map[string]bool

// All are its members.
func (s Set) All() func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range s {
			if !yield(k) {
				return
			}
		}
	}
}

// List are its members too.
func (s Set) List() []string { return slices.Collect(maps.Keys(s)) }

// Count is how many there are.
func (s Set) Count() (n int) {
	for range s {
		n++
	}
	return n
}

// NewKey is another each time.
func NewKey() string { return fmt.Sprint(time.Now().UnixNano()) }

// Pay gets a key.
func Pay(ctx context.Context, idempotencyKey string) error { return nil }

// PayFor hands one on.
func PayFor(ctx context.Context, id string) error { return Pay(ctx, "order-"+id) }

// Gone reports whether a run is cancelled.
func Gone(err error) bool { return errors.Is(err, stepwell.ErrCancelled) }

var rate = 3

// SetRate changes it.
func SetRate(n int) { rate = n }

// Rate reads it.
func Rate() int { return rate }

// Limits are those of a shop.
type Limits struct{ Max int }

// Set sets one.
func (l *Limits) Set(n int) { l.Max = n }

// Load fills them.
func Load(l *Limits) { l.Set(3) }

// Shared is changed through a method.
var Shared Limits

// Reload changes it.
func Reload() { Shared.Set(4) }

// Fixed is set as the program starts.
var Fixed = Limits{3}

// Crunch takes long.
func Crunch() (n int) {
	for range 10_000_000_000 {
		n++
	}
	return n
}

// Say prints.
func Say(text string) { fmt.Println(text) }

var store *Store

// Store is a part of the program, and no data.
type Store struct{ done chan int }

// Open opens it.
func Open() { store = &Store{} }

// Opened reports whether it is there.
func Opened() bool { return store != nil }
