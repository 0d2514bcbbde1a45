package wire

// This file has notices, which come as server-sent events.

// The types of server-sent events at /v1/world/notices.
const (
	EventOpen    = "open"    // the first: an [Open]
	EventNotices = "notices" // a list of [world.Notice]
)

// Open is what a stream of notices begins with.
type Open struct {
	HeartbeatMs int64 `json:"beatMs"`           // something comes at least so often, if only a comment
	PollMs      int64 `json:"pollMs,omitempty"` // how often to look for work beside notices; 0: as often as the worker is told to
}
