package ui

// This file serves what pages load: a style sheet, a script, an icon. Their path has a hash of them all, so that browsers may keep them.

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files that pages may load, and what they are.
var assets = map[string]string{
	"ui.css": "text/css; charset=utf-8", "ui.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
}

// assetPath is the folder of this build's assets.
var assetPath = func() string {
	h := sha256.New()
	for _, name := range []string{"icon.svg", "ui.css", "ui.js"} {
		h.Write(Asset(name))
	}
	return Base + "assets/" + hex.EncodeToString(h.Sum(nil)[:8]) + "/"
}()

func (u *UI) asset(v *visit) error {
	media, ok := assets[v.PathValue("name")]
	if !ok {
		return errNoPage
	}
	b, err := assetFiles.ReadFile("assets/" + v.PathValue("name"))
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", media)
	if assetPath == Base+"assets/"+v.PathValue("hash")+"/" {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	v.begun = true
	v.w.WriteHeader(http.StatusOK)
	_, _ = v.w.Write(b) // a client that is gone is not told
	return nil
}

// Asset returns a file that the pages load, such as ui.css. The documentation's site uses it too.
func Asset(name string) []byte {
	b, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return b
}
