// Moments that were read against those that the samples would give: a checkpoint may have been changed.
#pragma once

namespace exhume {

struct SecondMoments;
struct HermiteMoments;

// Throws DataError unless `moments` are of as many inputs and outputs as `like`, and of its order, with all
// parts there. Cost: none beside that of the sums.
void require_fit(const SecondMoments& moments, const SecondMoments& like);
void require_fit(const HermiteMoments& moments, const HermiteMoments& like);

}  // namespace exhume
