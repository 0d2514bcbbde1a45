package browser

// The pictures of the pages that the docs show. A test takes them each time; make pictures keeps them.

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
)

var picturesDir = flag.String("pictures", screenshots, "the folder for the pictures that the docs show")

// after is a body that takes a while.
func after[T any](d time.Duration, v T, err error) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		select {
		case <-time.After(d):
			return v, err
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// checkout has a timeline worth a picture: steps one by one and side by side, attempts, a wait.
var (
	picked   = stepwell.Event[string]("picked-up")
	checkout = stepwell.Define("checkout", func(ctx stepwell.Context, in uitest.Order) (string, error) {
		if _, err := stepwell.Step(ctx, "check-cart", after(300*time.Millisecond, "ok", nil)); err != nil {
			return "", err
		}
		if _, err := stepwell.Step(ctx, "charge-card", func(ctx context.Context) (string, error) {
			if in.Cents == 0 {
				return "", stepwell.Fatal(errors.New("card declined: insufficient funds"))
			}
			if stepwell.Info(ctx).Attempt < 3 {
				return after(150*time.Millisecond, "", errors.New("bank: connection refused"))(ctx)
			}
			return after(200*time.Millisecond, "receipt-1001", nil)(ctx)
		}, stepwell.Retry{Attempts: 5, Base: 200 * time.Millisecond}); err != nil {
			return "", err
		}
		if _, err := stepwell.All(ctx,
			stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
				return stepwell.Step(ctx, "print-invoice", after(250*time.Millisecond, "invoice.pdf", nil))
			}),
			stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
				return stepwell.Step(ctx, "pack-parcel", after(500*time.Millisecond, "parcel-7", nil))
			})); err != nil {
			return "", err
		}
		by, _, err := picked.Wait(ctx, stepwell.Timeout(48*time.Hour))
		return by, err
	})
)

func TestPicturesOfDocs(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, checkout)
	begin := func(id string, in uitest.Order, kind stepwell.WhyKind) {
		if _, err := checkout.Start(t.Context(), s.App, in, stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, kind)
	}
	if _, err := uitest.Broken.Start(t.Context(), s.App, "orders.csv", stepwell.RunID("import-0512")); err != nil {
		t.Fatal(err)
	}
	s.Until("import-0512", stepwell.WhyBlocked)
	for _, id := range []string{"cart-1039", "cart-1040"} {
		begin(id, uitest.Order{Customer: "bob", Cents: 0}, stepwell.WhyOver)
	}
	begin("cart-1041", uitest.Order{Customer: "ada", Cents: 4200, Items: []string{"lamp"}}, stepwell.WhyEvent)
	if err := s.App.Signal(t.Context(), "cart-1041", "picked-up", []byte(`"ada"`)); err != nil {
		t.Fatal(err)
	}
	s.Until("cart-1041", stepwell.WhyOver)
	begin("cart-1042", uitest.Order{Customer: "eve", Cents: 1900, Items: []string{"chair"}}, stepwell.WhyEvent)

	b := s.tab(t, browser(t))
	b.do(chromedp.EmulateViewport(1120, 900))
	for _, scheme := range []string{"light", "dark"} {
		b.dark(scheme)
		for name, path := range map[string]string{
			"runs": "/ui/runs", "run": "/ui/runs/cart-1042", "blocked": "/ui/runs/import-0512", "failures": "/ui/failures",
		} {
			b.open(path)
			b.picture("ui-" + name + "-" + scheme)
		}
	}
}

// picture keeps the main part of the page, without the folder that the tests were built in: details of a block have it.
func (b *tab) picture(name string) {
	b.Helper()
	is[int](b, `document.styleSheets[0].insertRule(".answer details { display: none }")`)
	png, err := chromedp.Run(b.ctx, chromedp.Screenshot(chromedp.CSS("main")))
	if err == nil {
		err = os.WriteFile(filepath.Join(*picturesDir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.Fatalf("picture %s: %v", name, err)
	}
}
