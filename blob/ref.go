package blob

import (
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// MaxSize is the largest size of a blob in bytes: 1 GiB.
const MaxSize = world.MaxApart

// Ref refers to a blob. Its JSON is small. It grants no access: a run can open only blobs that it
// holds. The zero Ref refers to none. Refs can be compared with ==.
type Ref struct {
	Blob world.Apart `json:"stepwell:blob"`
}

// ID returns the blob's unique ID.
func (r Ref) ID() string { return r.Blob.ID }

// Size returns the blob's size in bytes.
func (r Ref) Size() int64 { return r.Blob.Size }

// IsZero reports whether r refers to no blob.
func (r Ref) IsZero() bool { return r == Ref{} }

func (r Ref) check() error {
	if r.IsZero() {
		return fmt.Errorf("blob: %w: the reference is empty: create the blob first", world.ErrInvalid)
	}
	if err := r.Blob.Check(); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}
