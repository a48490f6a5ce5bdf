#include "report/svg.h"

namespace exhume::svg {
namespace {

// Okabe and Ito's palette; on dark the blues and greens are lightened to keep their contrast.
constexpr const char* kStyle = R"css(:root {
  --c-ink: #1d2430; --c-soft: #5b6676; --c-grid: #e6e9ee; --c-axis: #9aa4b2; --c-paper: #ffffff;
  --c-0: #0072b2; --c-1: #d55e00; --c-2: #009e73; --c-3: #b3558c; --c-4: #c98a00; --c-5: #3f9fd8;
  --c-positive: #d55e00; --c-negative: #0072b2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --c-ink: #e6eaf0; --c-soft: #9aa6b6; --c-grid: #2a323d; --c-axis: #5d6978; --c-paper: #161b22;
    --c-0: #56b4e9; --c-1: #ff8f3f; --c-2: #2fc79b; --c-3: #dd8fbd; --c-4: #f0b93a; --c-5: #9bd3f5;
    --c-positive: #ff8f3f; --c-negative: #56b4e9;
  }
}
.chart { display: block; width: 100%; height: auto; overflow: visible; }
.chart text { font: 12.5px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  fill: var(--c-soft); font-variant-numeric: tabular-nums; }
.chart .label { fill: var(--c-ink); }
.chart .note { fill: var(--c-ink); paint-order: stroke; stroke: var(--c-paper); stroke-width: 4px;)css"
                               R"css( stroke-linejoin: round; }
.chart .grid { stroke: var(--c-grid); stroke-width: 1; }
.chart .axis, .chart .tick { stroke: var(--c-axis); stroke-width: 1; }
.chart .rule { stroke: var(--c-soft); stroke-width: 1.2; stroke-dasharray: 5 4; fill: none; }
.chart .frame { fill: none; stroke: var(--c-axis); stroke-width: 1; }
.chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.chart .dashed { stroke-dasharray: 6 5; }
.chart .p { fill: var(--c-positive); } .chart .n { fill: var(--c-negative); }
.chart .s0 { stroke: var(--c-0); } .chart .f0 { fill: var(--c-0); }
.chart .s1 { stroke: var(--c-1); } .chart .f1 { fill: var(--c-1); }
.chart .s2 { stroke: var(--c-2); } .chart .f2 { fill: var(--c-2); }
.chart .s3 { stroke: var(--c-3); } .chart .f3 { fill: var(--c-3); }
.chart .s4 { stroke: var(--c-4); } .chart .f4 { fill: var(--c-4); }
.chart .s5 { stroke: var(--c-5); } .chart .f5 { fill: var(--c-5); }
)css";

}  // namespace

std::string style() { return kStyle; }

std::string standalone(const std::string& drawing) {
  const std::size_t body = drawing.find(">\n");
  if (body == std::string::npos) return drawing;
  return drawing.substr(0, body + 2) + "<style>\n" + kStyle +
         "svg { background: var(--c-paper); }\n</style>\n" + drawing.substr(body + 2);
}

}  // namespace exhume::svg
