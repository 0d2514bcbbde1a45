package behaviour_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
)

// A value that does not encode is refused with ErrInvalid, and one that is too large with ErrTooLarge, wherever it is handed over.
func TestRefusedValuesAreRecognised(t *testing.T) {
	type value = map[string]any
	refused := map[error]value{
		stepwell.ErrInvalid:  {"f": func() {}},
		stepwell.ErrTooLarge: {"f": strings.Repeat("x", 1<<21)},
	}
	echo := stepwell.DefineStep("echo", func(_ context.Context, v value) (int, error) { return len(v), nil })
	child := stepwell.Define("child", func(_ stepwell.Context, v value) (int, error) { return len(v), nil })
	event := stepwell.Event[any]("event")
	for want, v := range refused {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			t.Parallel()
			across(t, kinds[:1], modes[:1], func(r *rig) {
				doors := map[string]func(ctx stepwell.Context) error{
					"child": func(ctx stepwell.Context) error { _, err := child.Child().Run(ctx, v); return err },
					"step":  func(ctx stepwell.Context) error { _, err := echo.Run(ctx, v); return err },
					"result": func(ctx stepwell.Context) error {
						_, err := stepwell.Step(ctx, "result", func(context.Context) (value, error) { return v, nil })
						return err
					},
					"attribute": func(ctx stepwell.Context) error { return stepwell.SetAttribute(ctx, "a", v) },
					"stream":    func(ctx stepwell.Context) error { return stepwell.WriteStream(ctx, "s", v) },
					"metadata": func(ctx stepwell.Context) error {
						_, err := stepwell.NewHook[int](ctx, stepwell.Metadata(v))
						return err
					},
					"webhook":  func(ctx stepwell.Context) error { _, err := webhook.New(ctx, webhook.Metadata(v)); return err },
					"match":    func(ctx stepwell.Context) error { _, _, err := event.Wait(ctx, stepwell.Match(v)); return err },
					"continue": func(ctx stepwell.Context) error { return stepwell.ContinueAsNew(ctx, v) },
					"stream, in a step": func(ctx stepwell.Context) error {
						return stepwell.Do(ctx, "write", func(ctx context.Context) error {
							s := stepwell.Stream[value](ctx, "s")
							if err := s.Write(v); !errors.Is(err, want) {
								return fmt.Errorf("write = %v", err)
							}
							return stepwell.Fatal(want)
						})
					},
				}
				wf := stepwell.Define("refused", func(ctx stepwell.Context, _ struct{}) (string, error) {
					var wrong []string
					for name, hand := range doors {
						if err := hand(ctx); !errors.Is(err, want) {
							wrong = append(wrong, fmt.Sprintf("%s: %v", name, err))
						}
					}
					return strings.Join(wrong, "\n"), nil
				})
				wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, echo, child}, MaxPayload: 1 << 20})
				run := start(r, wk, wf, struct{}{})
				out, err := run.Result(r.ctx)
				if err != nil || out != "" {
					r.Errorf("not %v:\n%s %v", want, out, err)
				}
				if _, err := child.Start(r.ctx, wk.App, v); !errors.Is(err, want) {
					r.Errorf("start: %v", err)
				}
				if err := event.Send(r.ctx, wk.App, run.ID(), v); !errors.Is(err, want) {
					r.Errorf("send: %v", err)
				}
				if _, err := child.Start(r.ctx, wk.App, nil, stepwell.Attributes(value{"a": v})); !errors.Is(err, want) {
					r.Errorf("attribute of a start: %v", err)
				}
			})
		})
	}
}
