// Command axe opens every page of the documentation's site in a browser, light and dark, on a desk and on a phone, and
// has axe-core look for what keeps people out. The package is fetched with npm; without it the command says so, and
// ends with 3.
//
//	make docs-check
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/stepwell/stepwell/server/site"
)

// release is the version of axe-core.
const release = "4.14.1"

// patience is for a machine on which all else of CI goes on beside this.
const patience = 25 * time.Minute

// errAway: there is no axe-core to be had.
var errAway = errors.New("NOT TESTED with axe-core")

func main() {
	err := run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "axe:", err)
	}
	switch {
	case errors.Is(err, errAway):
		os.Exit(3)
	case err != nil:
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	script, err := fetch(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(site.Base, site.Handler())
	srv := httptest.NewServer(mux)
	defer srv.Close()
	ctx, end, err := browser(ctx)
	if err != nil {
		return err
	}
	defer end()
	return look(ctx, srv.URL+site.Base, script)
}

// fetch is the script, kept in the folder bin.
func fetch(ctx context.Context) (string, error) {
	dir, err := filepath.Abs("bin/axe-" + release)
	if err != nil {
		return "", err
	}
	at := filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(at); err != nil {
		npm := exec.CommandContext(ctx, "npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", dir, "axe-core@"+release)
		if out, err := npm.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %w\n%s", errAway, err, out)
		}
	}
	b, err := os.ReadFile(at)
	return string(b), err
}

// browser starts Chromium; server/ui/install.sh has installed it.
func browser(ctx context.Context) (context.Context, func(), error) {
	path := os.Getenv("STEPWELL_TEST_BROWSER")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "/usr/lib/chromium/chromium", "/snap/bin/chromium"} {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1280, 900))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(ctx, opts...)
	ctx, quit := chromedp.NewContext(ctx)
	return ctx, func() { quit(); end() }, chromedp.Do(ctx)
}

// faults has axe-core look at a page by some rules, and lists what it finds: rule, place, why.
const faults = `axe.run(document, { resultTypes: ["violations"], %s }).then((r) => r.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) =>
	v.id + " (" + v.impact + ") at " + n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " "))))`

// look opens all pages.
func look(ctx context.Context, base, script string) error {
	var wrong []error
	n := 0
	for _, way := range []struct {
		scheme string
		wide   int
		rules  string
	}{
		{"light", 1280, ""},
		{"dark", 390, `runOnly: ["color-contrast", "scrollable-region-focusable", "target-size"]`}, // what may differ
	} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(int64(way.wide), 900), scheme(way.scheme), chromedp.Navigate(base)); err != nil {
			return err
		}
		pages, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`[...document.querySelectorAll("#contents a")].map((a) => a.href).filter((h) => h.startsWith(location.origin) && h.endsWith(".html"))`))
		if err != nil {
			return err
		}
		for _, page := range append(pages, base, base+"none.html") {
			if err := chromedp.Do(ctx, chromedp.Navigate(page)); err != nil {
				return err
			}
			if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script+"; true")); err != nil {
				return err
			}
			found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(faults, way.rules), chromedp.EvalAwaitPromise))
			if err != nil {
				return fmt.Errorf("%s: %w", page, err)
			}
			for _, f := range found {
				wrong = append(wrong, fmt.Errorf("%s, %s: %s", strings.TrimPrefix(page, base), way.scheme, f))
			}
			n++
		}
	}
	fmt.Printf("axe-core %s looked at %d pages, and found %d faults\n", release, n, len(wrong))
	if n < 80 {
		wrong = append(wrong, fmt.Errorf("got %d pages, want those of the documentation", n))
	}
	return errors.Join(wrong...)
}

// scheme has the system like light colours, or dark ones.
func scheme(is string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: is}},
		})
		return err
	})
}
