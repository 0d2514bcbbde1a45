// Package docs holds the pages of the documentation as files, so that a program can carry them: package site makes a
// site of them. Its tests hold the pages to the code.
package docs

import "embed"

// Files are the pages, what they show, the data of their tables, and llms.txt, by their paths below docs/.
//
//go:embed *.md data design skills tutorial llms.txt pictures/*.svg pictures/*.png
var Files embed.FS
