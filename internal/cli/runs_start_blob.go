package cli

// This file uploads files that the input of a start refers to.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/world"
)

// upload puts the files of a start, and returns the input that refers to them. The run has its ID from then on: blobs
// are put for a run. One that is there under the key is started no more, and nothing is put for it.
func (f *startFlags) upload(ctx context.Context, db *database, workflow string, input json.RawMessage) (json.RawMessage, error) {
	if len(f.blobs) == 0 {
		return input, nil
	}
	if there, err := f.there(ctx, db, workflow); err != nil || there {
		return input, err
	}
	if f.id == "" {
		f.id = world.NewID(world.PrefixRun, world.Now())
	}
	var members map[string]json.RawMessage
	for _, text := range f.blobs {
		member, path, ok := strings.Cut(text, "=")
		if !ok {
			member, path = "", text
		}
		switch {
		case member == "" && (len(f.blobs) > 1 || string(input) != "null"):
			return nil, usagef("name the member of the input to put it in: --blob rows=orders.csv", "--blob %s would be the whole input, and there is more", text)
		case member != "" && members == nil && json.Unmarshal(input, &members) != nil:
			return nil, usagef("give an input that is an object, or none", "--blob %s: the input is not an object, so it has no members", text)
		}
		ref, err := put(ctx, db.app, f.id, path)
		if err != nil {
			return nil, err
		}
		if member == "" {
			return ref, nil
		}
		if members == nil {
			members = map[string]json.RawMessage{}
		}
		if _, twice := members[member]; twice {
			return nil, usagef("", "--blob %s: the input already has the member %s", text, member)
		}
		members[member] = ref
	}
	return json.Marshal(members)
}

// there reports whether a run has the key of a start already.
func (f *startFlags) there(ctx context.Context, db *database, workflow string) (bool, error) {
	if f.key == "" {
		return false, nil
	}
	page, err := db.app.Page(ctx, stepwell.ListFilter{Workflow: workflow, Key: f.key}, "", 1)
	return err == nil && len(page.Runs) > 0, err
}

// put uploads a file, and returns the reference to it.
func put(ctx context.Context, app *stepwell.App, run, path string) (json.RawMessage, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, usagef("", "--blob: %w", err)
	}
	ref, err := blob.Put(ctx, app, run, file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("upload %s: %w", path, err)
	}
	return json.Marshal(ref)
}
