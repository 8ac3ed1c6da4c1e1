// Integer intrinsics, products of bytes and arithmetic on the halves and bytes of a word.
#include "told.h"

namespace {

Table<unsigned> words() {
  Table<unsigned> t;
  const unsigned some[] = {0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x7fff8000,
                           0x80007fff, 0x00ff00ff, 0x80808080, 0x7f7f7f7f, 31,         32};
  for (int i = 0; i < 12; ++i)
    t.x.push_back(some[i]), t.y.push_back(some[(i * 5 + 2) % 12]), t.z.push_back(some[(i * 7 + 1) % 12]);
  Numbers numbers;
  for (int i = 0; i < 20; ++i) {
    t.x.push_back(numbers.word()), t.y.push_back(numbers.word()), t.z.push_back(numbers.word() >> (i % 3 * 13));
  }
  return t;
}

Table<unsigned long long> wide() {
  Table<unsigned long long> t;
  const unsigned long long some[] = {0, 1, ~0ull, 1ull << 63, (1ull << 63) - 1, 0xffffffffull, 1ull << 32};
  for (int i = 0; i < 7; ++i) t.x.push_back(some[i]), t.y.push_back(some[(i * 3 + 2) % 7]);
  Numbers numbers;
  for (int i = 0; i < 13; ++i) t.x.push_back(numbers.next()), t.y.push_back(numbers.next());
  return t;
}

#define U(...) ASK(unsigned, unsigned, words, __VA_ARGS__)
#define W(...) ASK(unsigned long long, unsigned long long, wide, __VA_ARGS__)

U(x) U(y) U(z)
U(__brev(x)) U(__clz(x)) U(__ffs(x)) U(__popc(x)) U(__byte_perm(x, y, z)) U(__funnelshift_l(x, y, z))
U(__funnelshift_lc(x, y, z)) U(__funnelshift_r(x, y, z)) U(__funnelshift_rc(x, y, z)) U(__mul24((int)x, (int)y))
U(__umul24(x, y)) U(__mulhi((int)x, (int)y)) U(__umulhi(x, y)) U(__sad((int)x, (int)y, z)) U(__usad(x, y, z))
U(__hadd((int)x, (int)y)) U(__rhadd((int)x, (int)y)) U(__uhadd(x, y)) U(__urhadd(x, y))
U(__dp4a((int)x, (int)y, (int)z)) U(__dp4a(x, y, z)) U(__dp2a_lo((int)x, (int)y, (int)z)) U(__dp2a_hi((int)x, (int)y, (int)z))
U(__dp2a_lo(x, y, z)) U(__dp2a_hi(x, y, z)) U(abs((int)x)) U(x << y) U((unsigned)((int)x >> y)) U(x >> y)
U(x << (y & 31)) U(y ? x / y : 7) U(x / y) U(x % y) U((int)x / (int)y) U((int)x % (int)y)
U(__vabs2(x)) U(__vabs4(x)) U(__vabsss2(x)) U(__vabsss4(x)) U(__vneg2(x)) U(__vneg4(x)) U(__vnegss2(x)) U(__vnegss4(x))
U(__vadd2(x, y)) U(__vadd4(x, y)) U(__vaddss2(x, y)) U(__vaddss4(x, y)) U(__vaddus2(x, y)) U(__vaddus4(x, y))
U(__vsub2(x, y)) U(__vsub4(x, y)) U(__vsubss2(x, y)) U(__vsubss4(x, y)) U(__vsubus2(x, y)) U(__vsubus4(x, y))
U(__vabsdiffs2(x, y)) U(__vabsdiffs4(x, y)) U(__vabsdiffu2(x, y)) U(__vabsdiffu4(x, y)) U(__vavgs2(x, y))
U(__vavgs4(x, y)) U(__vavgu2(x, y)) U(__vavgu4(x, y)) U(__vhaddu2(x, y)) U(__vhaddu4(x, y)) U(__vmaxs2(x, y))
U(__vmaxs4(x, y)) U(__vmaxu2(x, y)) U(__vmaxu4(x, y)) U(__vmins2(x, y)) U(__vmins4(x, y)) U(__vminu2(x, y))
U(__vminu4(x, y)) U(__vsads2(x, y)) U(__vsads4(x, y)) U(__vsadu2(x, y)) U(__vsadu4(x, y)) U(__vcmpeq2(x, y))
U(__vcmpeq4(x, y)) U(__vcmpges2(x, y)) U(__vcmpges4(x, y)) U(__vcmpgeu4(x, y)) U(__vcmpgts4(x, y)) U(__vcmpltu2(x, y))
U(__vcmples4(x, y)) U(__vcmpne4(x, y)) U(__vseteq2(x, y)) U(__vseteq4(x, y)) U(__vsetges4(x, y)) U(__vsetgtu4(x, y))
U(__vsetlts2(x, y)) U(__vsetne4(x, y)) U(__viaddmax_s32(x, y, z)) U(__viaddmin_s32_relu(x, y, z))
U(__vimax3_s32(x, y, z)) U(__vimax3_s16x2_relu(x, y, z)) U(__vimin3_u16x2(x, y, z)) U(__viaddmax_s16x2_relu(x, y, z))
U(__float_as_uint((float)(int)x)) U((unsigned)(int)__uint_as_float(x))
W(x) W(y) W(__brevll(x)) W(__clzll(x)) W(__ffsll(x)) W(__popcll(x)) W(__mul64hi(x, y)) W(__umul64hi(x, y)) W(x << (int)y)
W(x / y) W(x % y) W((unsigned long long)((long long)x / (long long)y)) W((unsigned long long)((long long)x % (long long)y))
W((unsigned long long)((long long)x >> (y & 127)))

__device__ unsigned ptx(unsigned op, unsigned x, unsigned y, unsigned z) {
  unsigned r = 0;
  switch (op) {
    case 0: asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 1: asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 2: asm("bfi.b32 %0, %1, %2, 5, 9;" : "=r"(r) : "r"(x), "r"(y)); break;
    case 3: asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(x)); break;
    case 4: asm("bfind.s32 %0, %1;" : "=r"(r) : "r"(x)); break;
    case 5: asm("bfind.shiftamt.u32 %0, %1;" : "=r"(r) : "r"(x)); break;
    case 6: asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 7: asm("prmt.b32.b4e %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 8: asm("prmt.b32.rc8 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 9: asm("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 10: asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 11: asm("lop3.b32 %0, %1, %2, %3, 0xE2;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 12: asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 13: asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(z)); break;
    case 14: asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(z)); break;
    case 15: asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y)); break;
    case 16: asm("mad.hi.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 17: asm("{.reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, 0;}" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 18: asm("{.reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, 0;}" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 19: asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(r) : "r"(y), "r"(z)); break;
    case 20: asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(r) : "r"(y), "r"(z)); break;
    case 21: asm("szext.clamp.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(z)); break;
    case 22: asm("cvt.sat.s8.s32 %0, %1;" : "=r"(r) : "r"(x)); break;
    case 23: asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(r) : "r"(x), "r"(y)); break;
    case 24: asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y)); break;
    case 25: asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 26: asm("vset4.u32.u32.gt %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
    case 27: asm("sad.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z)); break;
  }
  return r;
}

__global__ void run(const unsigned* x, const unsigned* y, const unsigned* z, unsigned* out, int op) {
  out[threadIdx.x] = ptx(op, x[threadIdx.x], y[threadIdx.x], z[threadIdx.x]);
}

}  // namespace

int main() {
  ask_all_entries();
  Table<unsigned> t = words();
  Array<unsigned> x(t.x), y(t.y), z(t.z), out(t.x.size());
  const char* names[] = {"bfe.u32", "bfe.s32", "bfi.b32 5 9", "bfind.u32", "bfind.s32", "bfind.shiftamt.u32", "prmt.f4e",
                         "prmt.b4e", "prmt.rc8", "prmt.ecl", "lop3 96", "lop3 e2", "shf.l.wrap", "shl.b32", "shr.s32",
                         "add.sat.s32", "mad.hi.s32", "add.cc", "sub.cc", "bmsk.clamp", "bmsk.wrap", "szext.clamp.s32",
                         "cvt.sat.s8.s32", "cvt.pack.sat.u8.s32", "cvt.pack.sat.s16.s32", "vabsdiff4.add", "vset4.gt",
                         "sad.s32"};
  for (int op = 0; op < 28; ++op) {
    run<<<1, static_cast<unsigned>(t.x.size())>>>(x, y, z, out, op);
    FINISH();
    tell_bits(std::string("ptx ") + names[op], out.host());
  }
  return 0;
}
