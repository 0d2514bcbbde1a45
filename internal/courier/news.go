package courier

// This file waits for news of a store.

import "github.com/stepwell/stepwell/world"

// News tells that something may have come to a queue.
type News struct {
	Came chan struct{} // capacity 1
	Stop func()
}

// NewNews listens to a queue.
func NewNews(by world.Notifier, queue string) *News {
	return NewsOf(by, func(n world.Notice) bool { return n.Kind == world.NoticeMessage && (n.Run == queue || n.Run == "") })
}

// NewsOf tells of notices that concern somebody.
func NewsOf(by world.Notifier, concerns func(n world.Notice) bool) *News {
	n := &News{Came: make(chan struct{}, 1)}
	n.Stop = by.Notify(func(x world.Notice) {
		if concerns(x) {
			select {
			case n.Came <- struct{}{}:
			default:
			}
		}
	})
	return n
}
