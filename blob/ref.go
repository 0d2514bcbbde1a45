package blob

import (
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// MaxSize is how many bytes a blob may have.
const MaxSize = world.MaxApart

// Ref refers to a blob. As JSON it is small, and says what it refers to; it gives nobody a right to that: a run opens
// the blobs that it holds, and no others. The zero Ref refers to none. Refs can be compared.
type Ref struct {
	Blob world.Apart `json:"stepwell:blob"`
}

// ID is the blob's, unique.
func (r Ref) ID() string { return r.Blob.ID }

// Size is how many bytes the blob has.
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
