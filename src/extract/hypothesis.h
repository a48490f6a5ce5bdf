// What is believed of a network with several hidden layers: planes, layers up to signs, units with what is
// open of them, and the network itself once it answers the sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "extract/evidence.h"
#include "extract/sign_free_layers.h"
#include "model/form.h"

namespace exhume {

// A unit above the first layer, as it was found.
struct FoundUnit {
  Vector row;               // sign-free, on (|Q_l|, ..., |Q_1|, u, 1); empty where only kinks are known
  std::vector<Kink> kinks;  // the one that it was found from first
  std::vector<MetPlace> met;
  Index open = 0;    // units below whose part is not determined
  Matrix free = {};  // directions that may be added to the row: so many x columns of the row
};

struct Hypothesis {
  Matrix planes;                              // of the first layer, as lines and places gave them: k x (s+1)
  std::vector<Matrix> layers;                 // all layers, sign-free (extract/sign_free_layers.h)
  std::vector<std::vector<FoundUnit>> units;  // of every layer above the first
  DeepForm fitted;                            // the layers with outputs fitted to the sample
  double left = 1;                            // share of the outputs' variance that the last fit leaves
  std::optional<DeepForm> nearly;             // a plain network for all queries but a few
  std::optional<DeepForm> start;              // one for all so far, from which a polish may start
  // Signs of a layer told by the kinks above it, kept because all ways are tried: of these rows, from so many
  // kinks.
  struct {
    Matrix rows;
    std::size_t kinks = 0;
    Vector signs;
  } told;

  DeepForm network;    // in the space's coordinates: plain where `plain`, otherwise sign-free
  bool exact = false;  // it answers the sample to rounding
  bool plain = false;  // without skip terms
  std::vector<Index>
      widths;  // of two layers that were told by their jumps; otherwise of what was found: widths_so_far

  [[nodiscard]] SignFreeLayers below(std::size_t level) const;
  [[nodiscard]] std::vector<Index> widths_so_far() const;
  // The planes are the first layer, and nothing above it is known.
  void start_over();
  // Rows of a layer's units that are known whole, on (layer, what lies below it).
  [[nodiscard]] std::vector<Vector> whole_rows(std::size_t level) const;
  // Sharper rows, on the scale of those before: what was open stays open.
  void take_rows(std::vector<Matrix> rows);
  // A plain network that answers nearly all queries: its rows are as sharp as they get.
  void adopt(const DeepForm& network);
};

// The search for the layers within one space. Every move takes one, and its header says what it changes.
struct LayerSearch {
  const Space& space;
  std::uint64_t seed = 0;
  double farthest = 40;  // how far a line leads where there is no box, in units of its scale
  QueryEvidence evidence;
  Hypothesis hypothesis;

  [[nodiscard]] Index dimensions() const { return space.dimensions(); }
  [[nodiscard]] Index outputs() const { return space.meter->outputs(); }
  // Distance from the middle, and one scale.
  [[nodiscard]] double far(const Vector& u) const { return evidence.scale + (u - space.middle()).norm(); }
};

// The known unit above the first layer whose surface passes through u explains a kink there.
[[nodiscard]] bool is_explained(const LayerSearch& search, const Vector& u);
// A plane of the first layer does.
[[nodiscard]] bool is_on_plane(const LayerSearch& search, const Vector& u);
// A known unit's surface passes near the kink in the same direction: as far as a row is known.
[[nodiscard]] bool is_on_known_piece(const LayerSearch& search, const Kink& kink);
// False where it is that of a known unit.
bool add_kink(LayerSearch& search, const Kink& kink);

// All surfaces pass through all places at which they were met.
[[nodiscard]] bool passes_places(const LayerSearch& search);

}  // namespace exhume
