#include "textflag.h"

// func self() uintptr
TEXT ·self(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func word(at uintptr) uintptr
TEXT ·word(SB), NOSPLIT, $0-16
	MOVQ at+0(FP), AX
	MOVQ (AX), AX
	MOVQ AX, ret+8(FP)
	RET

// func unwinds(panics, link, recovered uintptr) bool
TEXT ·unwinds(SB), NOSPLIT, $0-25
	MOVQ (TLS), AX
	ADDQ panics+0(FP), AX
	MOVQ (AX), AX
	MOVQ link+8(FP), BX
	MOVQ recovered+16(FP), CX
	MOVB $0, ret+24(FP)
next:
	TESTQ AX, AX
	JEQ  done
	CMPB (AX)(CX*1), $0
	JEQ  found
	MOVQ (AX)(BX*1), AX
	JMP  next
found:
	MOVB $1, ret+24(FP)
done:
	RET
