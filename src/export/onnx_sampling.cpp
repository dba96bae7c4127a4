// ONNX writers: images read at computed positions. Part of export/.
#include "export/onnx_operators.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/roi_align/roi_align.h"

namespace octavo::onnx_export {

void write_grid_sample(NodeExport& node) {
  const auto& attrs = node.attrs<GridSampleAttrs>();
  constexpr std::string_view kModes[] = {"nearest", "bilinear", "bicubic"};
  if (attrs.coordinates == GridCoordinates::elements)
    return node.refuse("positions that count elements", "some between -1 and 1");
  if (node.fact(0).shape.rank() != 4) return node.refuse("a volume", "images, which is all that opset 17 has");
  onnx::NodeProto& made = node.emit("GridSample", node.inputs());
  set_attribute(made, "mode", kModes[static_cast<int>(attrs.mode)]);
  set_attribute(made, "padding_mode", octavo::name_of(attrs.padding));
  set_attribute(made, "align_corners", std::int64_t{attrs.coordinates == GridCoordinates::middles});
}

void write_roi_align(NodeExport& node) {
  const auto& attrs = node.attrs<RoiAlignAttrs>();
  onnx::NodeProto& made = node.emit("RoiAlign", node.inputs());
  set_attribute(made, "mode", std::string_view(attrs.pooling == RoiPooling::max ? "max" : "avg"));
  set_attribute(made, "output_height", attrs.height);
  set_attribute(made, "output_width", attrs.width);
  set_attribute(made, "sampling_ratio", attrs.samples);
  set_attribute(made, "spatial_scale", attrs.scale);
  set_attribute(made, "coordinate_transformation_mode",
                std::string_view(attrs.is_half_pixel ? "half_pixel" : "output_half_pixel"));
}

}  // namespace octavo::onnx_export
