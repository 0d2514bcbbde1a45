package world

import (
	"errors"
	"slices"
)

// Coded is an error with a code for programs: over REST, between workers and servers, and in the
// --json output of commands. Codes never change their meaning.
type Coded struct {
	Err    error
	Code   string
	Status int    // HTTP status
	Title  string // what the code means, for people
	Exit   int    // exit code of the stepwell command: see stepwell help exit-codes

	// Own means that the error is about the process that had it. Clients of a server get it as
	// [ErrStorage].
	Own bool
}

// Codes returns the errors of this package. An error may match several; the first match counts.
func Codes() []Coded { return slices.Clone(codes) }

var codes = []Coded{
	{Err: ErrRunExists, Code: "RUN_EXISTS", Status: 409, Exit: 6, Title: "The run ID is taken"},
	{Err: ErrTerminal, Code: "RUN_OVER", Status: 409, Exit: 4, Title: "The run is over"},
	{Err: ErrInboxFull, Code: "INBOX_FULL", Status: 429, Exit: 5, Title: "The run has too many unread payloads"},
	{Err: ErrRateLimited, Code: "RATE_LIMITED", Status: 429, Exit: 5, Title: "The rate allows no more starts now"},
	{Err: ErrDeliveryUsed, Code: "DELIVERY_USED", Status: 409, Exit: 2, Title: "The delivery ID was used for a different payload"},
	{Err: ErrStreamClosed, Code: "STREAM_CLOSED", Status: 409, Exit: 1, Title: "The stream is closed"},
	{Err: ErrTooLarge, Code: "TOO_LARGE", Status: 413, Exit: 2, Title: "Too large"},
	{Err: ErrNotFound, Code: "NOT_FOUND", Status: 404, Exit: 3, Title: "Not found"},
	{Err: ErrConflict, Code: "CONFLICT", Status: 409, Exit: 1, Title: "Conflict"},
	{Err: ErrTooEarly, Code: "TOO_EARLY", Status: 409, Exit: 1, Title: "Too early"},
	{Err: ErrLeaseLost, Code: "LEASE_LOST", Status: 409, Exit: 1, Title: "Another worker has it now"},
	{Err: ErrWorkerExists, Code: "WORKER_EXISTS", Status: 409, Exit: 1, Title: "Another worker process has the database"},
	{Err: ErrReceipt, Code: "RECEIPT_OLD", Status: 409, Exit: 1, Title: "The receipt has expired"},
	{Err: ErrNoKey, Code: CodeNoKey, Status: 409, Exit: 1, Title: "The run is encrypted with a key that is not here"},
	{Err: ErrWrongKey, Code: "WRONG_KEY", Status: 409, Exit: 1, Title: "The encryption key has the ID of a different key"},
	{Err: ErrCorrupt, Code: CodeCorrupt, Status: 500, Exit: 1, Title: "The run's log is damaged"},
	{Err: ErrFormat, Code: CodeFormat, Status: 500, Exit: 1, Title: "The run's log was written by a newer release"},
	{Err: ErrUnknownOutcome, Code: "UNKNOWN_OUTCOME", Status: 503, Exit: 1, Title: "It may or may not have happened; repeat it with the same key"},
	{Err: ErrReplaced, Code: "DATABASE_REPLACED", Status: 503, Exit: 1, Title: "The file of the database was deleted, moved or replaced", Own: true},
	{Err: ErrStorage, Code: CodeStorage, Status: 503, Exit: 1, Title: "The database does not answer, or refuses"},
	{Err: ErrUnfit, Code: "UNFIT", Status: 422, Exit: 2, Title: "It does not fit the type of the code that reads it"},
	{Err: ErrClosed, Code: "SHUTTING_DOWN", Status: 503, Exit: 1, Title: "The server is shutting down", Own: true},
	{Err: ErrInvalid, Code: "INVALID", Status: 400, Exit: 2, Title: "Invalid request"},
}

// CodeOf returns the entry of [Codes] that an error matches; false: none.
func CodeOf(err error) (Coded, bool) {
	for _, c := range codes {
		if errors.Is(err, c.Err) {
			return c, true
		}
	}
	return Coded{}, false
}
