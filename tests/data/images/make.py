"""Makes the images of this folder and, with Pillow, what decoding and resizing them must give (expected_*.npy, u8 [H,W,3]).

    pip install pillow numpy
    python tests/data/images/make.py
"""

import pathlib

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(7)
y, x = np.mgrid[0:29, 0:37]
smooth = np.stack([(x * 7) % 256, (y * 9) % 256, (x * y) % 256], 2)
photo = Image.fromarray(np.clip(smooth + rng.integers(-20, 21, smooth.shape), 0, 255).astype(np.uint8))

photo.save(HERE / "photo.jpg", quality=90)
photo.save(HERE / "photo.png")
photo.save(HERE / "photo.bmp")
photo.convert("L").save(HERE / "grey.jpg", quality=90)
photo.quantize(16).save(HERE / "palette.png")
photo.convert("RGBA").save(HERE / "alpha.png")
rgba = np.dstack([np.asarray(photo), rng.integers(0, 256, (29, 37), dtype=np.uint8)])
Image.fromarray(rgba).save(HERE / "alpha.png")

for name in ["photo.jpg", "photo.png", "photo.bmp", "grey.jpg", "palette.png", "alpha.png"]:
    pixels = np.asarray(Image.open(HERE / name).convert("RGB"))
    np.save(HERE / ("expected_" + name.replace(".", "_")), pixels)
for width, height in [(16, 12), (37, 29), (80, 61), (5, 29), (37, 3)]:
    np.save(HERE / f"expected_resized_{width}x{height}", np.asarray(photo.resize((width, height), Image.BILINEAR)))
