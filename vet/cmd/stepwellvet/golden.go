package main

// What vet holds code against besides its rules: logs and recorded shapes in the folders of packages.

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/vet"
)

// goldens tells one state of the logs and shapes of this module from another, as go vet keeps its findings for as long
// as the code and its flags are the same; "": there are none.
func goldens() string {
	root, err := os.Getwd()
	if err != nil {
		return ""
	}
	for up := root; ; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, "go.mod")); err == nil {
			root = up
			break
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	sum, n := sha256.New(), 0
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not read by the analyzers either
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor") {
				return fs.SkipDir
			}
			return nil
		}
		slashed := filepath.ToSlash(path)
		if !strings.Contains(slashed, "/testdata/histories/") && !strings.HasSuffix(slashed, "/"+vet.ShapesFile) {
			return nil
		}
		if info, err := d.Info(); err == nil {
			n++
			fmt.Fprintln(sum, slashed, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// shapes are what a package has recorded, by what they are of.
type shapes map[string][]any

// keep adds the shapes of a finding to those of its package.
func keep(all map[string]shapes, file, message string) error {
	text, ok := strings.CutPrefix(message, "shape: ")
	if !ok {
		return nil
	}
	var one map[string]any
	if err := json.Unmarshal([]byte(text), &one); err != nil {
		return fmt.Errorf("vet: %s: %w", file, err)
	}
	dir := filepath.Dir(file)
	if all[dir] == nil {
		all[dir] = shapes{}
	}
	for key, shape := range one {
		all[dir].add(key, shape)
	}
	return nil
}

func (s shapes) add(key string, shape any) {
	if !slices.ContainsFunc(s[key], func(other any) bool { return reflect.DeepEqual(other, shape) }) {
		s[key] = append(s[key], shape)
	}
}

// writeShapes adds today's shapes to those that were recorded before, which stay: runs may have them.
func writeShapes(to io.Writer, all map[string]shapes) error {
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		path := filepath.Join(dir, filepath.FromSlash(vet.ShapesFile))
		was := shapes{}
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &was)
		}
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("vet: %s: %w", path, err)
		}
		for key, list := range all[dir] {
			for _, shape := range list {
				was.add(key, shape)
			}
		}
		var b bytes.Buffer
		b.WriteString("{\n")
		for i, key := range slices.Sorted(maps.Keys(was)) {
			name, _ := json.Marshal(key)
			list, err := json.Marshal(was[key])
			if err != nil {
				return fmt.Errorf("vet: %s: %w", path, err)
			}
			if i > 0 {
				b.WriteString(",\n")
			}
			fmt.Fprintf(&b, "  %s: %s", name, list)
		}
		b.WriteString("\n}\n")
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return fmt.Errorf("vet: %w", err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("vet: %w", err)
		}
		fmt.Fprintf(to, "%s: %s\n", path, count(len(was), "name"))
	}
	return nil
}
