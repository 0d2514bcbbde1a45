package postgres

// How times of the database are read and written: what no Go program can show, 'infinity' above all, is no error that would end a list or a claim for all
// that is in it. It is the first or the last microsecond that can be counted, and written as that it is what it was. What people are shown is within bounds,
// see [at].

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// The database counts microseconds from the year 2000.
const year2000 = 946_684_800 * 1_000_000

// Before and after all times.
var (
	dawn = time.UnixMicro(math.MinInt64).UTC()
	dusk = time.UnixMicro(math.MaxInt64).UTC()
)

// times reads and writes timestamps of our own connections.
type times struct{ pgtype.TimestamptzCodec }

// readTimes makes a connection read all times.
func readTimes(c *pgx.Conn) {
	c.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &times{}})
}

// PlanScan reads a time, whatever it is, from the form in which it comes here.
func (t *times) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*time.Time); ok && format == pgtype.BinaryFormatCode {
		return scanTime{}
	}
	return t.TimestamptzCodec.PlanScan(m, oid, format, target)
}

// PlanEncode writes a time.
func (t *times) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(time.Time); ok && format == pgtype.BinaryFormatCode {
		return encodeTime{}
	}
	return t.TimestamptzCodec.PlanEncode(m, oid, format, value)
}

type scanTime struct{}

var errNoTime = errors.New("it is no time")

// Scan reads microseconds of the database.
func (scanTime) Scan(src []byte, target any) error {
	if len(src) != 8 {
		return errNoTime
	}
	us := int64(binary.BigEndian.Uint64(src))
	if us > math.MinInt64 { // 'infinity' too is farther than can be counted from 1970
		us = min(us, math.MaxInt64-year2000) + year2000
	}
	*target.(*time.Time) = time.UnixMicro(us)
	return nil
}

type encodeTime struct{}

// Encode is Scan the other way round.
func (encodeTime) Encode(value any, buf []byte) ([]byte, error) {
	t := value.(time.Time)
	us := int64(math.MinInt64)
	switch {
	case t.After(dusk):
		us = math.MaxInt64 // 'infinity'
	case t.After(dawn):
		us = max(t.UnixMicro(), math.MinInt64+1+year2000) - year2000
	}
	return binary.BigEndian.AppendUint64(buf, uint64(us)), nil
}
