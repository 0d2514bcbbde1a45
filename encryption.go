package stepwell

// What is shown of payloads that are encrypted with a key that is not here.

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/world"
)

// legible is a row as people read it: the message of a block that cannot be decrypted says so.
func legible(row world.Run) world.Run {
	if row.Queue != nil && row.Queue.Blocked != nil && row.Queue.Blocked.Encrypted != "" {
		queue, block := *row.Queue, *row.Queue.Blocked
		block.Message = fmt.Sprintf("the error message is encrypted with the key %q, which this process does not have", block.Encrypted)
		queue.Blocked, row.Queue = &block, &queue
	}
	return row
}

// readableStream refuses chunks that only look like text, as they are encrypted with a key that is not here.
func (a *App) readableStream(ctx context.Context, run string, chunks []world.Chunk) error {
	if a.able.Decrypter != nil || len(chunks) == 0 { // a world with keys refuses by itself
		return nil
	}
	encrypted := func(c world.Chunk) bool {
		return crypt.LooksEncrypted(c.Value) || c.Error != nil && crypt.LooksEncrypted(c.Error.Value)
	}
	if !slices.ContainsFunc(chunks, encrypted) {
		return nil
	}
	row, err := a.world.Run(ctx, run)
	if err == nil && row.Encryption != "" {
		err = &world.KeyError{Run: run, Key: row.Encryption}
	}
	return err
}
