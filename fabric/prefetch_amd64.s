#include "textflag.h"

// func prefetchEach(index *int32, n int, stride uintptr, first unsafe.Pointer, size uintptr)
TEXT ·prefetchEach(SB), NOSPLIT, $0-40
	MOVQ index+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ stride+16(FP), DX
	MOVQ first+24(FP), DI
	MOVQ size+32(FP), R8

next:
	TESTQ CX, CX
	JLE   done
	MOVLQSX (SI), AX
	IMULQ R8, AX
	PREFETCHT0 (DI)(AX*1)
	ADDQ  DX, SI
	DECQ  CX
	JMP   next

done:
	RET

// func prefetchSet(set uint64, first unsafe.Pointer, size uintptr)
TEXT ·prefetchSet(SB), NOSPLIT, $0-24
	MOVQ set+0(FP), SI
	MOVQ first+8(FP), DI
	MOVQ size+16(FP), R8

member:
	BSFQ  SI, AX
	JEQ   end
	IMULQ R8, AX
	PREFETCHT0 (DI)(AX*1)
	LEAQ  -1(SI), DX
	ANDQ  DX, SI
	JMP   member

end:
	RET
