// Package wire is the protocol between a Stepwell server and its remote workers: package world over
// HTTP, as JSON.
//
// Each method of a World that a client may call has a [Row]: a POST of one message to its path below
// /v1/world, which is answered by {"answer": …}. Messages are the types of package world, with the
// names in their tags, or those of this package. Two things are written otherwise than encoding/json
// would:
//
//   - a json.RawMessage, which holds what authors made, is JSON as it is where that keeps every
//     byte, otherwise {"$base64": "…"};
//   - the ID of a commit is 32 hexadecimal digits.
//
// Durations are in nanoseconds.
package wire

// Protocol is the version of the protocol that this release speaks.
const Protocol = 1

// CallHeader is the header in which a client names a call, each time that it sends it by another name: 1 to 64 letters and digits. The server says it
// back with its answer, so that no other answer is taken for it; and what comes twice under one name it does once.
const CallHeader = "Stepwell-Call"

// ThroughHeader is the header in which a client says what its user acts through, such as an assistant: the audit log
// has it, and the log of runs behind the name of the key, with [Through] between them. A server keeps no more than
// [MostThrough] characters of it.
const ThroughHeader = "Stepwell-Through"

// Through stands between who acts and what through.
const Through = " through "

// MostThrough is how many characters of what one acts through are kept.
const MostThrough = 100

// Prefix is what all paths begin with.
const Prefix = "/v1/world"
