#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "base/random.h"
#include "engine/device.h"
#include "engine/open_device.h"
#include "exhume/error.h"
#include "fit/form_sums.h"
#include "fit/polish.h"
#include "fit/student.h"
#include "random_deep.h"

namespace exhume::device_test {
namespace {

// The processor as a device, and a CUDA device where there is one.
std::vector<std::shared_ptr<Device>> devices() {
  std::vector<std::shared_ptr<Device>> out{host_device()};
  if (const OpenedDevice cuda = open_device("auto"); cuda.device) out.push_back(cuda.device);
  return out;
}

struct Rows {
  Network network = random_deep({5, 7, 6, 2}, 3, false);
  RowMatrix x = Stream(1, "x").normal_matrix(700, 5), y = evaluate(network, x);
  Rows() { y.rowwise() -= y.colwise().mean().eval(); }
};

TEST(Device, NamesThatAreNone) {
  EXPECT_THROW((void)open_device("gpu"), std::invalid_argument);
  EXPECT_EQ(open_device("cpu").device, nullptr);
  const OpenedDevice any = open_device("auto");
  if (any.device) {
    EXPECT_FALSE(any.device->name().empty());
    EXPECT_GT(any.device->bytes_free(), 0);
  } else {
    EXPECT_FALSE(any.why.empty());
    EXPECT_THROW((void)open_device("cuda"), ResourceError);
  }
}

TEST(Device, ProductsOfBlocks) {
  const Matrix A = Stream(2, "A").normal_matrix(6, 5), B = Stream(3, "B").normal_matrix(5, 4);
  for (const auto& device : devices()) {
    DeviceMatrix<double> a(*device, 8, 5), b(*device, 4, 5), c(*device, 6, 4);
    const Matrix turned = B.transpose();
    upload(*device, A.data(), 6, a.view().block(1, 0, 6, 5));
    upload(*device, turned.data(), 4, b.view());
    device->fill(c.view(), 1.0);
    device->product(2, a.view().block(1, 0, 6, 5), false, b.view(), true, 1, c.view());
    Matrix C(6, 4);
    download(*device, c.view(), C.data(), 6);
    EXPECT_LT((C - (2 * A * B + Matrix::Ones(6, 4))).cwiseAbs().maxCoeff(), 1e-13);
  }
}

TEST(Device, ProductsInSharesOfTheirRows) {
  const Matrix A = Stream(2, "A").normal_matrix(105, 5), B = Stream(3, "B").normal_matrix(105, 4);
  for (const auto& device : devices()) {
    constexpr Index kParts = 3;
    DeviceMatrix<double> a(*device, 105, 5), b(*device, 105, 4), c(*device, 5, 4 * kParts);
    upload(*device, A.data(), 105, a.view());
    upload(*device, B.data(), 105, b.view());
    device->fill(c.view(), 1.0);
    for (int batch = 0; batch < 6; ++batch) {
      device->finish_products(
          device->start_products({{a.view(), b.view(), c.view().columns(0, 4), kParts, 20}}, 2));
    }
    Matrix C(5, 4 * kParts);
    download(*device, c.view(), C.data(), 5);
    const Matrix sum = C.leftCols(4) + C.middleCols(4, 4) + C.rightCols(4);
    EXPECT_LT((sum - (6 * A.transpose() * B + kParts * Matrix::Ones(5, 4))).cwiseAbs().maxCoeff(), 1e-11);
    EXPECT_GT((C.leftCols(4) - C.rightCols(4)).cwiseAbs().maxCoeff(), 1e-3);
  }
}

TEST(Device, CholeskySaysWhatIsNotPositive) {
  const Matrix A = Stream(4, "A").normal_matrix(9, 6), H = A.transpose() * A;
  for (const auto& device : devices()) {
    DeviceMatrix<double> a(*device, 9, 6), h(*device, 6, 6), b(*device, 6, 1);
    upload(*device, A.data(), 9, a.view());
    device->fill(h.view(), 0.0);
    device->gram(1, a.view(), 0, h.view());
    const Vector right = Vector::LinSpaced(6, 1, 2);
    upload(*device, right.data(), 6, b.view());
    ASSERT_TRUE(device->cholesky(h.view()));
    device->solve_cholesky(h.view(), b.view());
    Vector solved(6);
    download(*device, b.view(), solved.data(), 6);
    EXPECT_LT((H * solved - right).norm(), 1e-11);
    device->fill(h.view(), 1.0);
    const Matrix down = -2 * Matrix::Ones(6, 1);
    upload(*device, down.data(), 6, b.view());
    device->add_diagonal(h.view(), b.view());
    EXPECT_FALSE(device->cholesky(h.view()));
  }
}

TEST(Device, SumsOfThePolishAreTheProcessors) {
  const Rows rows;
  const DeepData data(rows.x, rows.y);
  for (const auto& device : devices()) {
    for (bool plain : {false, true}) {
      Form form = plain ? to_plain_form(rows.network) : to_sign_free_form(rows.network);
      for (Matrix& v : form.V) v.array() += 0.01;
      normalise(form);
      const Control control;
      const auto here = host_sums(data), there = device_sums(device, data);
      const LinearSums a = here->linear(form, control), b = there->linear(form, control);
      EXPECT_LT((a.FF - b.FF).norm(), 1e-12 * a.FF.norm());
      EXPECT_LT((a.FY - b.FY).norm(), 1e-12 * a.FY.norm());
      fit_linear_part(form, data, control);
      const Residual r = here->residual(form, control), s = there->residual(form, control);
      EXPECT_NEAR(r.squares, s.squares, 1e-10 * r.squares);
      const auto hosted = here->normal_system(form, a.FF, control),
                 sent = there->normal_system(form, a.FF, control);
      const Vector one = *hosted->step(1e-3), other = *sent->step(1e-3);
      EXPECT_LT((one - other).norm(), 1e-7 * one.norm());
    }
  }
}

TEST(Device, AStudentLearnsTheSameThere) {
  const Rows rows;
  const SamplePtr samples = memory_samples(rows.x, rows.y);
  const Control control;
  const StudentData data(*samples, 1, control);
  StudentOptions options;
  options.steps = 40;
  options.batch = 256;
  const Form start = random_student(5, 2, {12, 10}, 7);
  for (const Index held : {0, 7, 12}) {  // none, some and all units of the first layer
    options.held = {held};
    const Student here = train(start, data, options, control);
    for (const auto& device : devices()) {
      const Student there = train_on_device(device, start, data, options, control);
      EXPECT_LT((here.form.V[1] - there.form.V[1]).norm(), 1e-4 * here.form.V[1].norm());
      EXPECT_LT((here.form.C - there.form.C).norm(), 1e-4 * here.form.C.norm());
      const Matrix before = start.V[0].topRows(held).cast<float>().cast<double>();
      EXPECT_EQ(there.form.V[0].topRows(held), before);
      EXPECT_EQ(here.form.V[0].topRows(held), before);
      const Student again = train_on_device(device, start, data, options, control);
      EXPECT_EQ(there.form.C, again.form.C);
    }
  }
}

}  // namespace
}  // namespace exhume::device_test
