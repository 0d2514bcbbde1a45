// Package wire has the messages of the protocol between a Stepwell server and its remote workers: what package world has, as JSON.
//
// Each call of a world is a POST of one message to its path below /v1/world, answered by another one; docs/protocol.md says what each does. The
// types here are those of package world with names for their fields. Two things are written otherwise than encoding/json would:
//
//   - what authors made (inputs, results, payloads, chunks) is [Bytes]: JSON as it is where that keeps every byte, else base64;
//   - the ID of a commit is 32 hexadecimal digits, see [CommitID].
//
// Encoders must not escape <, > and & ([Encode] does not), or bytes would change on their way.
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
