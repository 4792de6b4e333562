from . import Base


class TallBase(Base):
    def forward(self, x):
        return self.hook(self.checked(x)) * self.width
