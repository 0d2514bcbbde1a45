package site

// This file writes blocks of code. Go is coloured by the scanner of Go itself: the highlighters that know all languages
// are several times the size of all else here.

import (
	"go/scanner"
	"go/token"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// coder renders blocks of code.
type coder struct{}

// RegisterFuncs says so.
func (coder) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, block)
}

// block writes a block. It can be scrolled, and so must be reached by the keyboard.
func block(w util.BufWriter, source []byte, n ast.Node, enters bool) (ast.WalkStatus, error) {
	if !enters {
		return ast.WalkContinue, nil
	}
	code := string(n.Lines().Value(source))
	_, _ = w.WriteString(`<pre tabindex="0"><code>`) // it is a buffer: Render returns what fails
	switch string(n.(*ast.FencedCodeBlock).Language(source)) {
	case "go":
		_, _ = w.WriteString(coloured(code))
	case "console":
		for line := range strings.Lines(code) {
			if strings.HasPrefix(line, "$ ") {
				_, _ = w.WriteString(`<span class="k">$ </span><b>` + html.EscapeString(line[2:]) + `</b>`)
			} else {
				_, _ = w.WriteString(html.EscapeString(line))
			}
		}
	default:
		_, _ = w.WriteString(html.EscapeString(code))
	}
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

// coloured is Go code, or a part of some, with the classes of words.
func coloured(code string) string {
	var b strings.Builder
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(code))
	s.Init(file, []byte(code), nil, scanner.ScanComments) // what is no Go stays as it is
	done := 0
	for {
		pos, tok, word := s.Scan()
		if tok == token.EOF {
			break
		}
		class := ""
		switch {
		case tok.IsKeyword():
			class = "k"
		case tok == token.COMMENT:
			class = "c"
		case tok == token.STRING, tok == token.CHAR:
			class = "s"
		case tok == token.INT, tok == token.FLOAT:
			class = "n"
		default:
			continue
		}
		at := file.Offset(pos)
		b.WriteString(html.EscapeString(code[done:at]))
		done = at + len(word)
		b.WriteString(`<span class="` + class + `">` + html.EscapeString(code[at:done]) + `</span>`)
	}
	b.WriteString(html.EscapeString(code[done:]))
	return b.String()
}
