package server

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

// keepSome leaves as many messages as there is room for in an answer, one at least, and gives back the others.
func keepSome(ctx context.Context, k world.Messenger, got *world.Received, bytes int) error {
	for i := range got.Messages {
		if bytes -= len(got.Messages[i].Payload); i > 0 && bytes < 0 {
			rest := got.Messages[i:]
			got.Messages, got.More = got.Messages[:i], true
			return giveBack(ctx, k, rest)
		}
	}
	return nil
}

// giveBack gives back messages that were received and that nobody has seen: they are ready again at once.
func giveBack(ctx context.Context, k world.Messenger, all []world.Message) error {
	if len(all) == 0 {
		return nil
	}
	back := make([]world.Settlement, len(all))
	for i := range all {
		back[i] = world.Settlement{Receipt: all[i].Receipt, Kind: world.Unread}
	}
	_, err := lasting(ctx, func(ctx context.Context) ([]bool, error) { return k.SettleMessages(ctx, back) })
	return err
}
