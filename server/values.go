package server

// This file gives out values that are kept apart from logs.

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/stepwell/stepwell/world"
)

func valueRoutes() []route {
	return []route{
		{method: "GET", path: longForm + "/values/{value}", scope: Viewer, wide: true, handle: value, op: operation{
			id:      "getValue",
			summary: "Read a value over 1 MiB, or a blob, that the log of the run refers to",
			responses: []response{
				{200, "", "application/octet-stream", "The value, as JSON, or the bytes of the blob. An answer shorter than its Content-Length is incomplete."},
			},
		}},
	}
}

// value streams a value. A key that is limited reads what it may read of the run. What is wrong with the first piece is
// said; of what is wrong behind it an answer that is cut short tells.
func value(s *Server, w http.ResponseWriter, r *request) error {
	run, err := s.findID(r)
	if err != nil {
		return err
	}
	from, size, err := s.app.OpenValue(r.Context(), run, r.PathValue("value"))
	if err != nil {
		return err
	}
	piece := make([]byte, world.ApartPiece)
	rc, begun := http.NewResponseController(w), false
	for {
		n, err := io.ReadFull(from, piece)
		end := err == io.EOF || err == io.ErrUnexpectedEOF //nolint:errorlint // what wraps them is of a store that is away
		switch {
		case err != nil && !end && begun:
			return errBegun
		case err != nil && !end:
			return err
		case !begun:
			h := w.Header()
			h.Set("Content-Type", "application/octet-stream")
			h.Set("Content-Length", strconv.FormatInt(size, 10))
			w.WriteHeader(http.StatusOK)
			begun = true
		}
		_ = rc.SetWriteDeadline(time.Now().Add(s.opts.WriteTimeout)) // not every ResponseWriter has deadlines
		if _, err := w.Write(piece[:n]); err != nil {
			return errBegun
		}
		if end {
			return nil
		}
	}
}
