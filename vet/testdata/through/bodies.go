package through

import (
	"context"

	"example.com/vet/through/desk"
	"github.com/stepwell/stepwell"
)

func adder(total *int) func(context.Context) error {
	return func(context.Context) error { *total += 3; return nil }
}

func reader(total *int) func(context.Context) error {
	return func(context.Context) error { _ = *total; return nil }
}

func put[T any](to *[]T, v T) { *to = append(*to, v) }

type handler struct{ add func(int) }

func changedThrough(ctx stepwell.Context) (int, error) {
	total, list, s := 0, []int{}, &state{}
	add := func(n int) { total += n }
	h := handler{add: func(n int) { total -= n }}
	method := s.add
	if err := stepwell.Do(ctx, "one", func(context.Context) error {
		add(3)        // want `the body of a step changes total with add`
		put(&list, 3) // want `the body of a step changes list with through.put`
		method(3)     // want `the body of a step changes s with method`
		return nil
	}); err != nil {
		return 0, err
	}
	if err := stepwell.Do(ctx, "two", func(context.Context) error {
		h.add(3) // want `the body of a step changes total with add`
		return nil
	}); err != nil {
		return 0, err
	}
	n := 0
	if err := stepwell.Do(ctx, "three", adder(&n)); err != nil { // want `the body of a step changes n with through.adder`
		return 0, err
	}
	if err := desk.InBody(ctx, func() error {
		n++ // want `the body of a step changes n`
		return nil
	}); err != nil {
		return 0, err
	}
	return total + len(list) + s.sum + n, nil
}

func nearChanged(ctx stepwell.Context) (int, error) {
	total, m, s := 0, 0, &state{}
	add := func(n int) { total += n }
	look := func() int { return total }
	if err := stepwell.Do(ctx, "one", func(context.Context) error {
		own, list := &state{}, []int{}
		own.add(look())
		plus := own.add
		plus(3)
		put(&list, 3)
		return nil
	}); err != nil {
		return 0, err
	}
	if err := stepwell.Do(ctx, "three", reader(&m)); err != nil {
		return 0, err
	}
	add(3) // between steps it may
	s.add(4)
	return total + s.sum + m, nil
}

// counted is given a function of the program's, which keeps what it likes.
func counted(seen func()) *stepwell.Workflow[int, int] {
	return stepwell.Define("counted", func(ctx stepwell.Context, n int) (int, error) {
		return n, stepwell.Do(ctx, "seen", func(context.Context) error { seen(); return nil })
	})
}

func program() (int, []stepwell.Definition) {
	n := 0
	all := []stepwell.Definition{counted(func() { n++ })}
	return n, all
}
