package codec

// This file walks the causes of an author's error, which may form a circle, or have no end in another way: errors.Is and errors.As would not return.

import (
	"iter"
	"slices"
)

// endless is how many errors a tree of causes has that is taken for one without an end.
const endless = 20_000

// Tree yields an error and its causes, each before its own, and stops after so many as no tree has that ends.
func Tree(err error) iter.Seq[error] {
	return func(yield func(error) bool) {
		todo := []error{err}
		for n := 0; len(todo) > 0 && n < endless; n++ {
			e := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if e == nil {
				continue
			}
			if !yield(e) {
				return
			}
			switch x := e.(type) {
			case interface{ Unwrap() error }:
				todo = append(todo, x.Unwrap())
			case interface{ Unwrap() []error }:
				for _, cause := range slices.Backward(x.Unwrap()) {
					todo = append(todo, cause)
				}
			}
		}
	}
}

// Is is errors.Is for an author's error.
func Is(err, target error) bool {
	for e := range Tree(err) {
		if comparableError(e) && e == target {
			return true
		}
		if x, ok := e.(interface{ Is(error) bool }); ok && x.Is(target) {
			return true
		}
	}
	return false
}

// As is errors.AsType for an author's error.
func As[T error](err error) (found T, ok bool) {
	for e := range Tree(err) {
		if found, ok = e.(T); ok {
			return found, true
		}
		if x, is := e.(interface{ As(any) bool }); is && x.As(&found) {
			return found, true
		}
	}
	return found, false
}

// Finite returns err itself or, where its causes have no end, what the log keeps of it, so that errors.Is and errors.As return.
func Finite(err error, reg *Registry) error {
	if !ends(err) {
		return ToError(FromError(err, reg), reg)
	}
	return err
}

func ends(err error) bool {
	n := 0
	for range Tree(err) {
		n++
	}
	return n < endless
}

// Message is the text of an author's error, whose method may panic.
func Message(err error) string { return message(err) }
