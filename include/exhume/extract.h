// A network that can be asked: queries in, network out, with the truth about it.
//
//   probe -> kinks on lines of a random subspace -> the network within it -> all other weights -> signs
//   -> fresh queries
//
// One hidden layer of ReLUs (leaky ReLUs and absolute values are ReLUs and a linear term), or several of
// ReLUs; depth and widths are found. About (unknowns / outputs) queries for one: (1.3 (k + m) / m) (d - 10)
// for the weights, and some 25 for every unit; for several some 150 for every unit of the first layer and 12
// for every weight between two hidden layers. Every query is counted, kept and never asked twice
// (oracle/meter.h); with a box none lies outside it.
//
// Certified: the network answers every logged query, and fresh random ones over the domain, to the precision
// of the oracle. Units that do not bend f within the domain act there as linear functions and are invisible.
// So are units that bend it on a share of the domain that no query fell into: widths are lower bounds, and
// `unseen_share` says how large that share may be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "exhume/certificate.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/oracle.h"

#pragma GCC visibility push(default)
namespace exhume {

struct ExtractOptions {
  // Most queries; 0 for a limit that the extraction sets itself: twenty times what it takes by estimate for a
  // network as large as its first line of queries shows, and default_query_limit(inputs) at least.
  Index queries = 0;
  Box box;  // what inputs may be
  std::uint64_t seed = 0;
  Index fresh = 256;          // random queries of the last check
  Index dimensions = 10;      // of the subspace
  std::filesystem::path log;  // of queries, written while they are asked; empty: in memory only
  bool resume = false;        // go on from the log where it exists
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// One move of an extraction: what was done, why, and how many queries were answered before it.
struct ExtractMove {
  std::string move, why;
  Index queries = 0;
};

struct StageQueries {
  std::string stage;
  Index queries = 0;
};

// What was found of one hidden layer when an extraction ended early.
struct LayerFound {
  Index units = 0;
  Index whole = 0;  // of them, those all of whose weights are known
};

struct ExtractResult {
  Certificate certificate;
  Network network;                  // canonical form; empty where refused
  std::string activation = "relu";  // relu, leaky relu, absolute value, relu with a linear term
  double slope = 0;                 // of leaky units below zero
  bool signs_identifiable = true;
  std::string precision;            // of the oracle: "double precision", "single precision", "6 decimals"
  std::string reading = "outputs";  // outputs, or logits: log probabilities less their mean
  std::string oracle;               // its name
  Index queries = 0, limit = 0;     // asked in all; the limit, 0 for none
  Index sent = 0;                   // of those, in this run
  std::vector<StageQueries> stages;
  std::vector<ExtractMove> moves;  // in order
  Box box;
  double spread = 1;  // of the fresh queries where there is no box: standard deviation
  Index fresh = 0;
  double logged_worst = 0, fresh_worst = 0;  // largest |y - f| over what is allowed there
  double fresh_relative_mse = 0;
  // Largest share of the domain on which the oracle may differ, at 99.9% confidence: 1 - 0.001^(1 / fresh);
  // with several hidden layers, for which up to three attempts are made, 1 - (0.001 / 3)^(1 / fresh).
  double unseen_share = 1;
  Index found_outside = 0;        // units that the subspace did not show
  std::string log_digest;         // of the log of queries
  std::string log;                // its bytes
  std::string resumed;            // what became of an earlier log, in words; empty where there was none
  bool interrupted = false;       // the control stopped it: this is the best so far
  std::vector<LayerFound> found;  // where it ended early, by layer, the first one first

  [[nodiscard]] bool is_deep() const { return network.depth() > 1; }

  // For pictures.
  std::vector<double> line, kinks;  // ends of the first line, and its kinks
  RowMatrix predicted, observed;    // fresh queries x m, at most 500
};

// Queries that an extraction of such a network takes, about.
[[nodiscard]] Index estimate_queries(Index inputs, Index hidden, Index outputs, Index dimensions = 10);
// The same for several hidden layers of these widths, where the first attempt does: (8 + 20 / m) for every
// weight between two hidden layers and from each to all below it, 150 for every unit of the first, (2.7 k_1 /
// m + 4) (d - s) for its weights.
[[nodiscard]] Index estimate_deep_queries(Index inputs, const std::vector<Index>& widths, Index outputs,
                                          Index dimensions = 10);

// The limit of queries of an extraction that is given none, before its first line says more: twenty times the
// estimate for 128 units in one hidden layer, or for 20 and 20 in two.
[[nodiscard]] Index default_query_limit(Index inputs);

// Ends at the control's deadline, at the limit of queries, or when the control says stop, with the best so
// far: uncertified where there is a network, otherwise refused; `found` says what is known of each layer,
// and the log holds all that was asked. Throws DataError where the oracle or the log cannot be used,
// std::invalid_argument for bad options, and what the oracle throws.
[[nodiscard]] ExtractResult extract(const OraclePtr& oracle, const ExtractOptions& options,
                                    const Control& control = {});

// The same extraction from a finished log alone: no query is asked.
[[nodiscard]] ExtractResult replay_extraction(const std::string& bytes, const Control& control = {});

}  // namespace exhume
#pragma GCC visibility pop
