package server

// This file takes uploads of blobs: values that are read and written as streams, for runs that are to refer to them.

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/world"
)

const octets = "application/octet-stream"

func blobRoutes() []route {
	return []route{{method: "POST", path: "/v1/blobs", scope: Operator, handle: uploadBlob, audit: true, raw: true, maxBody: blob.MaxSize, op: operation{
		id: "uploadBlob", summary: "Upload a blob for a run that is to be started, or is there", binary: true,
		query:     []param{{name: "run", schema: "Text", about: "The run's ID. None: a new one, which is in the answer; start the run with it."}},
		responses: []response{{201, "UploadedBlob", "", "It is durable. A blob whose run does not exist after a day is deleted."}},
	}}}
}

// uploadedBlob says where a blob is, and what refers to it.
type uploadedBlob struct {
	Run  string   `json:"run"`
	Blob blob.Ref `json:"blob"`
}

// uploadBlob streams a body into a blob: a piece of it is in memory at a time. A key that is limited uploads for the
// runs that it may work on.
func uploadBlob(s *Server, w http.ResponseWriter, r *request) error {
	if err := r.readQuery(); err != nil {
		return err
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != octets {
		return errOctets
	}
	if r.ContentLength > r.max {
		return tooLarge(r.max)
	}
	r.created = r.query.Get("run")
	if r.created == "" {
		r.created = world.NewID(world.PrefixRun, world.Now())
	} else if err := world.CheckRunID(r.created); err != nil {
		return invalid("query parameter run: %v", err)
	}
	if err := s.guard.mayKeep(r, r.created); err != nil {
		return err
	}
	if r.key == nil {
		defer guestOf(r.Request).work()()
	}
	done, err := s.places.wait(s.places.keyed(r)...)
	if err != nil {
		return err
	}
	defer done()
	from := &arriving{from: http.MaxBytesReader(w, r.Body, r.max), rc: http.NewResponseController(w), time: s.opts.ReadTimeout}
	ref, err := blob.Put(r.Context(), s.app, r.created, from)
	var more *http.MaxBytesError
	switch {
	case errors.As(err, &more):
		return tooLarge(more.Limit)
	case errors.Is(from.err, os.ErrDeadlineExceeded):
		return errSlow
	case from.err != nil && from.err != io.EOF: //nolint:errorlint // as Read returned it
		return invalid("the body ended too early: %v", from.err)
	case err != nil:
		return err
	}
	return answer(w, http.StatusCreated, uploadedBlob{r.created, ref})
}

// arriving is a body each piece of which has so much time to arrive.
type arriving struct {
	from io.Reader
	rc   *http.ResponseController
	time time.Duration
	left int
	err  error // that ended it
}

func (p *arriving) Read(b []byte) (n int, err error) {
	if p.left <= 0 {
		_ = p.rc.SetReadDeadline(time.Now().Add(p.time)) // not every ResponseWriter has deadlines
		p.left = world.ApartPiece
	}
	n, p.err = p.from.Read(b)
	p.left -= n
	return n, p.err
}
