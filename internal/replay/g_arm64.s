#include "textflag.h"

// func self() uintptr
TEXT ·self(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func word(at uintptr) uintptr
TEXT ·word(SB), NOSPLIT, $0-16
	MOVD at+0(FP), R0
	MOVD (R0), R0
	MOVD R0, ret+8(FP)
	RET

// func unwinds(panics, link, recovered uintptr) bool
TEXT ·unwinds(SB), NOSPLIT, $0-25
	MOVD panics+0(FP), R1
	MOVD (g)(R1), R0
	MOVD link+8(FP), R1
	MOVD recovered+16(FP), R2
	MOVB ZR, ret+24(FP)
next:
	CBZ  R0, done
	MOVBU (R0)(R2), R3
	CBZ  R3, found
	MOVD (R0)(R1), R0
	B    next
found:
	MOVD $1, R3
	MOVB R3, ret+24(FP)
done:
	RET
