// Pictures renders what a directory has the sources of: each NAME.d2, a diagram, to NAME.svg beside it, with the styles
// of style.d2 and style.css, and each NAME.txt, what a program printed, to a terminal that plays it. Of D2 it uses the
// library: its program brings a browser to write PNG. It is a module of its own, so that nobody who uses Stepwell has
// any of it.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"oss.terrastruct.com/d2/d2graph"
	"oss.terrastruct.com/d2/d2layouts/d2dagrelayout"
	"oss.terrastruct.com/d2/d2lib"
	"oss.terrastruct.com/d2/d2renderers/d2svg"
	d2log "oss.terrastruct.com/d2/lib/log"
	"oss.terrastruct.com/d2/lib/textmeasure"
)

// style is what each diagram imports, and no diagram itself. The themes of D2 colour boxes of a kind alike: the colours
// of classes, by day and by night, are in sheet.
const (
	style = "style.d2"
	sheet = "style.css"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pictures DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	styles, err := os.ReadFile(filepath.Join(dir, style))
	if err != nil {
		return err
	}
	css, err := os.ReadFile(filepath.Join(dir, sheet))
	if err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(dir, "*.[dt]*"))
	if err != nil {
		return err
	}
	for _, path := range sources {
		if filepath.Base(path) == style {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var svg []byte
		switch kind := filepath.Ext(path); kind {
		case ".d2":
			svg, err = render(dir, filepath.Base(path), string(source))
			svg = slices.Concat(bytes.TrimSuffix(svg, []byte("</svg>")), []byte("<style>\n"), css, []byte("</style></svg>"))
		case ".txt":
			svg, err = terminal(strings.TrimSuffix(filepath.Base(path), kind), string(source))
		default:
			err = fmt.Errorf("no picture is made of %s", kind)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		// The docs' tests hold the picture to its source by this line.
		sum := sha256.Sum256(slices.Concat(styles, css, source))
		svg = fmt.Appendf(nil, "<!-- source %x -->\n%s\n", sum, svg)
		path = strings.TrimSuffix(path, filepath.Ext(path)) + ".svg"
		if err := os.WriteFile(path, svg, 0o644); err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

// render returns a diagram at its natural size: a page scales it down where it does not fit, and never up.
func render(dir, name, source string) ([]byte, error) {
	ctx := d2log.With(context.Background(), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	ruler, err := textmeasure.NewRuler()
	if err != nil {
		return nil, err
	}
	yes, scale := true, 1.0
	opts := &d2svg.RenderOpts{Scale: &scale, NoXMLTag: &yes, OmitVersion: &yes, Salt: &name}
	diagram, _, err := d2lib.Compile(ctx, source, &d2lib.CompileOptions{
		Ruler: ruler, FS: os.DirFS(dir), InputPath: name,
		LayoutResolver: func(string) (d2graph.LayoutGraph, error) { return d2dagrelayout.DefaultLayout, nil },
	}, opts)
	if err != nil {
		return nil, err
	}
	return d2svg.Render(diagram, opts)
}
